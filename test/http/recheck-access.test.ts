// Tests that a stream ends when its viewer loses access, and only then.

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { recheckAccess } from '../../src/http/console/recheck-access.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A watched stream: `end` ends it, `stops` counts how often its source was told to stop. */
function watched(mayWatch: () => Promise<boolean>) {
  let stops = 0;
  const end = recheckAccess(
    () => () => {
      stops += 1;
    },
    mayWatch,
  )(() => undefined);
  return { end, stops: () => stops };
}

it('goes on while it is allowed, and while nobody can say', async () => {
  let calls = 0;
  const stream = watched(async () => {
    calls += 1;
    if (calls % 2 === 0) throw new Error('away');
    return true;
  });
  await vi.advanceTimersByTimeAsync(60_000);
  expect([calls, stream.stops()]).toEqual([6, 0]);
  stream.end();
});

it('ends within ten seconds when it is not, once, and asks no more', async () => {
  let calls = 0;
  const stream = watched(async () => {
    calls += 1;
    return false;
  });
  await vi.advanceTimersByTimeAsync(60_000);
  stream.end();
  expect([calls, stream.stops()]).toEqual([1, 1]);
});

it('asks no more once the reader has left', async () => {
  let calls = 0;
  const stream = watched(async () => {
    calls += 1;
    return true;
  });
  stream.end();
  await vi.advanceTimersByTimeAsync(60_000);
  expect([calls, stream.stops()]).toEqual([0, 1]);
});
