// How soon a process that ended by itself is started again: at once after a sound life, ever later while it
// cannot start, and never later than every five seconds.

import { expect, it } from 'vitest';
import { restartDelay } from '../../src/processes/restart-delay.ts';

/** The delays after lives of these lengths, from the first one on. */
function delaysAfter(livesMs: readonly number[]): number[] {
  let previousMs = 0;
  return livesMs.map((livedMs) => {
    previousMs = restartDelay(previousMs, livedMs);
    return previousMs;
  });
}

it('the first time it is started again after 100 ms, however short it lived', () => {
  expect(delaysAfter([0])).toEqual([100]);
  expect(delaysAfter([3_600_000])).toEqual([100]);
});

it('the delay doubles with every short life, up to 5 s', () => {
  expect(delaysAfter([5, 5, 5, 5, 5, 5, 5, 5])).toEqual([
    100, 200, 400, 800, 1600, 3200, 5000, 5000,
  ]);
});

it('after a life of 30 s it begins anew', () => {
  expect(delaysAfter([5, 5, 5, 29_999, 30_000, 5])).toEqual([100, 200, 400, 800, 100, 200]);
});
