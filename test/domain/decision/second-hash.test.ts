// Tests that the second hash is independent of the first, so that both together tell any two devices apart.

import { expect, it } from 'vitest';
import { hashText } from '../../../src/domain/decision/cohort.ts';
import { secondHash } from '../../../src/domain/decision/hashes.ts';

const COUNT = 400_000;

function idsOf(count: number): string[] {
  return Array.from(
    { length: count },
    (_, n) => `7f4df2c7-6d4e-4f0b-9a1c-${n.toString(16).padStart(12, '0')}`,
  );
}

it('is the same in every process and version: these values are never to change', () => {
  const tags = ['', 'a', 'device-1', 'ππ'].map((text) => secondHash(text));
  expect(tags).toEqual([0, 1416963827, 976124044, 917503028]);
  expect(secondHash('a', 1)).not.toBe(secondHash('a'));
});

it('is uniform: 400,000 similar ids collide about as often as random numbers, some 19 times', () => {
  const collisions = COUNT - new Set(idsOf(COUNT).map((id) => secondHash(id))).size;
  expect(collisions).toBeLessThan(45);
});

it('has no collision in common with the first hash, also where the first has one', () => {
  const ids = idsOf(COUNT);
  expect(new Set(ids.map((id) => hashText(id))).size).toBeLessThan(COUNT);
  expect(new Set(ids.map((id) => `${hashText(id)} ${secondHash(id)}`)).size).toBe(COUNT);
});

it('each of its bits is independent of each bit of the first, within 6 sigma', () => {
  const ids = idsOf(20_000);
  const agree = new Int32Array(32 * 32);
  for (const id of ids) {
    const [hash, tag] = [hashText(id), secondHash(id)];
    for (let a = 0; a < 32; a++) {
      const same = ~(tag ^ -((hash >>> a) & 1));
      for (let b = 0; b < 32; b++)
        agree[a * 32 + b] = (agree[a * 32 + b] ?? 0) + ((same >>> b) & 1);
    }
  }
  const sigma = Math.sqrt(ids.length / 4);
  for (const count of agree) expect(Math.abs(count - ids.length / 2)).toBeLessThan(6 * sigma);
});
