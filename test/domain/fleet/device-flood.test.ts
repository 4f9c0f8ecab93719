// Tests the device limit while devices come and go, and a few ask all the time: over five minutes and half a
// million devices, with SLUICE_MATRIX=all over two hours and ten million.

import { expect, it } from 'vitest';
import { LIMIT } from '../../../src/contract/limit.ts';
import { hashText } from '../../../src/domain/decision/cohort.ts';
import { secondHash } from '../../../src/domain/decision/hashes.ts';
import {
  ADMITTED,
  SlidingWindowLimiter,
} from '../../../src/domain/fleet/sliding-window-limiter.ts';
import { IS_WHOLE_MATRIX } from '../../support/matrix.ts';

const MINUTES = IS_WHOLE_MATRIX ? 120 : 5;
const NEW_PER_MINUTE = 83_400;
const CAPACITY = 2 ** 18;
const HARD_POLLERS = 50;
const HARD_STEP_MS = 100;

it('hard pollers stay limited exactly through a flood of new devices, in memory that does not grow', () => {
  const windows = new SlidingWindowLimiter({
    capacity: CAPACITY,
    ringCapacity: 4096,
    isShared: false,
  });
  const hard = Array.from({ length: HARD_POLLERS }, (_, n) => hashesOf(`hard ${n}`));
  const allowed = new Array<number>(HARD_POLLERS).fill(0);
  const endMs = MINUTES * LIMIT.rateWindowMs;
  const before = process.memoryUsage().arrayBuffers;
  let [newcomers, refusedNewcomers] = [0, 0];
  for (let now = 0; now < endMs; now += HARD_STEP_MS) {
    for (const [n, hashes] of hard.entries()) {
      if (windows.admit(...hashes, now) === ADMITTED) allowed[n] = (allowed[n] ?? 0) + 1;
    }
    for (; newcomers * LIMIT.rateWindowMs < now * NEW_PER_MINUTE; newcomers++) {
      if (windows.admit(...hashesOf(`new ${newcomers}`), now) !== ADMITTED) refusedNewcomers += 1;
    }
  }
  const grownBytes = process.memoryUsage().arrayBuffers - before;
  expect(allowed).toEqual(new Array(HARD_POLLERS).fill(MINUTES * LIMIT.deviceRequestsPerMinute));
  expect(refusedNewcomers).toBe(0);
  expect(grownBytes).toBeLessThanOrEqual(1024);
  expect(windows.busyCount).toBe(HARD_POLLERS);
}, 300_000);

it('new devices that fill the table anew every second do not wash out one who polls four times in it', () => {
  const windows = new SlidingWindowLimiter({
    capacity: 2 ** 14,
    ringCapacity: 64,
    isShared: false,
  });
  const hard = hashesOf('hard');
  let allowed = 0;
  for (let now = 0; now < LIMIT.rateWindowMs; now += 25) {
    if (now % 250 === 0 && windows.admit(...hard, now) === ADMITTED) allowed += 1;
    for (let n = 0; n < 400; n++) windows.admit(...hashesOf(`new ${now} ${n}`), now);
  }
  // Only requests that came before the table knew that the device asks again may be forgotten.
  expect(allowed).toBeLessThanOrEqual(LIMIT.deviceRequestsPerMinute + 2);
});

function hashesOf(id: string): [hash: number, tag: number] {
  return [hashText(id), secondHash(id)];
}
