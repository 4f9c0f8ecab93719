// Tests a wait that ends by itself or with a stop.

import { expect, it } from 'vitest';
import { pause } from '../../src/flow/pause.ts';

it('lasts as long as asked: a timer set before it that is shorter ends first', async () => {
  const ended: string[] = [];
  const never = new AbortController().signal;
  await Promise.all([
    pause(60, never).then(() => ended.push('long')),
    pause(5, never).then(() => ended.push('short')),
    pause(30).then(() => ended.push('middle')),
  ]);
  expect(ended).toEqual(['short', 'middle', 'long']);
});

it('ends at once when the signal is aborted, before or meanwhile, without rejecting', async () => {
  const stopping = new AbortController();
  const waiting = pause(3_600_000, stopping.signal);
  stopping.abort();
  await waiting;
  await pause(3_600_000, stopping.signal);
});
