// Bounded cache of recently used values by text. It has two generations, of which the older is dropped as a
// whole when the younger is full; a value that is read from the older moves to the younger, so that values in
// use stay. Unlike in a list in order of use, most reads write nothing.
//
// A value is kept when its text is seen for the second time. A flood of texts that are never repeated is not
// kept, so that it neither evicts other values nor leaves garbage to collect.

import { secondHash } from '../../domain/decision/hashes.ts';

/** Number of hashes of texts that were seen once (256 KiB); a power of two. */
const SIGHTS = 2 ** 16;

/**
 * Maximum length of a text that is kept: clients choose the texts, so that their size must be bounded, too.
 */
const KEY_LENGTH_MAX = 256;

export class GenerationalCache<Value> {
  private readonly generationMax: number;
  private readonly sights = new Int32Array(SIGHTS);
  private young = new Map<string, Value>();
  private old = new Map<string, Value>();

  /** Holds at most `sizeMax` values, and at least half as many. */
  constructor(sizeMax: number) {
    this.generationMax = Math.max(1, Math.floor(sizeMax / 2));
  }

  get(key: string): Value | undefined {
    const value = this.young.get(key);
    return value === undefined ? this.revive(key) : value;
  }

  /** Keeps the value if its key was seen before and is not too long; returns whether it did. */
  keep(key: string, value: Value): boolean {
    if (key.length > KEY_LENGTH_MAX) return false;
    const sight = secondHash(key) | 0;
    const index = sight & (SIGHTS - 1);
    if (this.sights[index] !== sight) {
      this.sights[index] = sight;
      return false;
    }
    this.set(key, value);
    return true;
  }

  private set(key: string, value: Value): void {
    if (this.young.size >= this.generationMax) {
      this.old = this.young;
      this.young = new Map();
    }
    this.young.set(key, value);
  }

  private revive(key: string): Value | undefined {
    const value = this.old.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }
}
