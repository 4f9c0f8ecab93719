// Random choices that a seed repeats.

import { seededRandom } from '../../bench/random.ts';

/** Choices that are the same for the same seed. */
export class Random {
  /** Returns a number from 0 up to, but not including, 1. */
  readonly next: () => number;

  constructor(seed: number) {
    this.next = seededRandom(seed);
  }

  /** Returns one of the items; throws when there is none. */
  pick<Item>(items: readonly Item[]): Item {
    const item = items[Math.floor(this.next() * items.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  }
}
