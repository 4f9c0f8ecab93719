// Bounded cache of recently used values by text. It has two generations: when the younger is full, the older
// is dropped as a whole. A value that is read from the older one moves to the younger, so that values in use
// stay. Unlike in an LRU list, most reads write nothing.
//
// A value is stored only when its text is seen for the second time, so that a flood of texts that are never
// repeated neither evicts other values nor leaves garbage to collect.

import { secondHash } from '../../domain/decision/hashes.ts';

/** Number of remembered hashes of texts that were seen once (256 KiB); a power of two. */
const SIGHTS = 2 ** 16;

/**
 * Maximum length of a text that is stored: clients choose the texts, so their size must be bounded too.
 */
const KEY_LENGTH_MAX = 256;

/**
 * Number of places for values of the younger generation, which are found without hashing their whole text:
 * that takes half of a map's look-up. 128 KiB for a cache in use; a power of two.
 */
const PLACES = 2 ** 13;
const SCRAMBLE = 0x9e3779b1;
/** Number of characters at the end of a text, where most texts differ, that its places depend on. */
const LAST_CHARACTERS = 8;

/** Returns the first of the two places of a text. If more texts share them, the map has the others. */
function placeOf(text: string): number {
  const { length } = text;
  let hash = length;
  const from = length > LAST_CHARACTERS ? length - LAST_CHARACTERS : 0;
  for (let at = from; at < length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), SCRAMBLE);
  const [half, quarter] = [length >> 1, length >> 2];
  hash ^= text.charCodeAt(quarter) ^ (text.charCodeAt(half) << 8);
  hash = Math.imul(hash ^ (text.charCodeAt(half + (quarter >> 1)) << 16), SCRAMBLE);
  return (hash ^ (hash >>> 15)) & (PLACES - 2);
}

export class GenerationalCache<Value> {
  private readonly generationMax: number;
  private readonly sights = new Int32Array(SIGHTS);
  private young = new Map<string, Value>();
  private old = new Map<string, Value>();
  /** Texts and values by place; empty until a value is stored. */
  private placed: string[] = [];
  private values: (Value | undefined)[] = [];

  /** The cache has at most `sizeMax` values; once it is full, at least half as many. */
  constructor(sizeMax: number) {
    this.generationMax = Math.max(1, Math.floor(sizeMax / 2));
  }

  get(key: string): Value | undefined {
    const { placed } = this;
    if (placed.length === 0) return undefined;
    const place = placeOf(key);
    if (placed[place] === key) return this.values[place];
    if (placed[place + 1] === key) return this.values[place + 1];
    const value = this.young.get(key);
    if (value === undefined) return this.revive(key);
    this.place(place, key, value);
    return value;
  }

  /** Stores the value if its key was seen before and is not too long; returns whether it did. */
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

  private place(place: number, key: string, value: Value): void {
    const { placed, values } = this;
    placed[place + 1] = placed[place] as string;
    values[place + 1] = values[place];
    placed[place] = key;
    values[place] = value;
  }

  private set(key: string, value: Value): void {
    const isFull = this.young.size >= this.generationMax;
    if (isFull) {
      this.old = this.young;
      this.young = new Map();
    }
    if (isFull || this.placed.length === 0) {
      this.placed = new Array(PLACES).fill('');
      this.values = new Array(PLACES).fill(undefined);
    }
    this.young.set(key, value);
    this.place(placeOf(key), key, value);
  }

  private revive(key: string): Value | undefined {
    const value = this.old.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }
}
