// What was asked for lately, by text, within a bound. Reading writes nothing, unlike a list in order of use:
// two generations, of which the older is thrown away whole when the younger is full. What is read from the
// older moves to the younger, so whatever is asked for now and then stays.
//
// A text is kept from its second sight on. Of a flood of texts that are never seen again nothing is kept, so
// it neither drives out the others nor leaves anything to collect.

import { tagText } from '../../domain/tag-text.ts';

/** A power of two: 256 KiB of hashes of texts seen once. */
const SIGHTS = 2 ** 16;

/** Strangers choose the texts: the number of them is bounded, and this is their length. */
const KEY_LENGTH_MAX = 256;

export class RecentMap<Value> {
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

  /** Keeps the value if its key was seen before and is not too long; otherwise false. */
  keep(key: string, value: Value): boolean {
    if (key.length > KEY_LENGTH_MAX) return false;
    const sight = tagText(key) | 0;
    const place = sight & (SIGHTS - 1);
    if (this.sights[place] !== sight) {
      this.sights[place] = sight;
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
