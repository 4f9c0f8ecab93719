// Random choices that a seed repeats.

import { seededRandom } from '../../bench/random.ts';

export type Random = {
  /** Returns a number from 0 up to, but not including, 1. */
  next(): number;
  /** Returns one of the items; throws when there is none. */
  pick<Item>(items: readonly Item[]): Item;
};

/** Creates choices that are the same for the same seed. */
export function randomChoices(seed: number): Random {
  const next = seededRandom(seed);
  return {
    next,
    pick<Item>(items: readonly Item[]): Item {
      const item = items[Math.floor(next() * items.length)];
      if (item === undefined) throw new Error('nothing to pick from');
      return item;
    },
  };
}
