// Tests a wait that ends by itself or with a stop.

import { expect, it } from 'vitest';
import { pause } from '../../src/flow/pause.ts';

it('lasts as long as asked', async () => {
  const start = performance.now();
  await pause(30, new AbortController().signal);
  // Timers count whole milliseconds, so that one may end up to one of them early.
  expect(performance.now() - start).toBeGreaterThanOrEqual(29);
});

it('ends at once when the signal is aborted, before or meanwhile, without rejecting', async () => {
  const stopping = new AbortController();
  const start = performance.now();
  const waiting = pause(60_000, stopping.signal);
  stopping.abort();
  await waiting;
  await pause(60_000, stopping.signal);
  expect(performance.now() - start).toBeLessThan(10_000);
});
