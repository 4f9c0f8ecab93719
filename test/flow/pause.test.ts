// Tests waits: how long they are, and what ends them.

import fc from 'fast-check';
import { afterEach, expect, it, vi } from 'vitest';
import { retryAfterMs } from '../../src/flow/outgoing-call.ts';
import { backOffMs, pause } from '../../src/flow/pause.ts';
import { demandWithin, withinTime } from '../../src/flow/within-time.ts';

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

it('a pause lasts as long as asked, or until its signal is aborted, before or meanwhile', async () => {
  const ended: string[] = [];
  const never = new AbortController().signal;
  await Promise.all([
    pause(60, never).then(() => ended.push('long')),
    pause(5, never).then(() => ended.push('short')),
    pause(30).then(() => ended.push('middle')),
  ]);
  expect(ended).toEqual(['short', 'middle', 'long']);
  const stopping = new AbortController();
  const waiting = pause(3_600_000, stopping.signal);
  stopping.abort();
  await waiting;
  await pause(3_600_000, stopping.signal);
});

it('a delay between attempts begins with the shortest and doubles up to the longest', () => {
  const delays = [1, 2, 3, 4, 5, 6, 7, 8].map((failures) =>
    backOffMs({ minMs: 100, maxMs: 5000 }, failures),
  );
  expect(delays).toEqual([100, 200, 400, 800, 1600, 3200, 5000, 5000]);
  const counts = fc.oneof(fc.integer({ min: 1, max: 40 }), fc.constant(1e9));
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1000 }), counts, (minMs, failures) => {
      const delay = backOffMs({ minMs, maxMs: 5000 }, failures);
      expect(delay >= minMs && delay <= 5000).toBe(true);
      expect(backOffMs({ minMs, maxMs: 5000 }, failures + 1)).toBeGreaterThanOrEqual(delay);
    }),
  );
});

it.each([
  [undefined, undefined],
  ['120', 120_000],
  ['Sat, 01 Aug 2026 00:01:00 GMT', 60_000],
  ['Fri, 31 Jul 2026 00:00:00 GMT', 0],
  ['soon', undefined],
])('Retry-After %s is %s ms', (header, ms) => {
  expect(retryAfterMs(header, Date.parse('2026-08-01T00:00:00Z'))).toBe(ms);
});

it('work is given up when its time is over, and a later failure of it is not unhandled', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  expect(await withinTime(Promise.resolve('done'), 10_000)).toBe('done');
  await expect(withinTime(Promise.reject(new Error('failed')), 10_000)).rejects.toThrow('failed');
  let fail: (error: Error) => void = () => undefined;
  const work = new Promise<string>((_resolve, reject) => {
    fail = reject;
  });
  const given = withinTime(work, 5000);
  await vi.advanceTimersByTimeAsync(5000);
  expect(await given).toBeUndefined();
  fail(new Error('too late'));
  await expect(work).rejects.toThrow('too late');
  // Node warns of a negative number.
  const timers = vi.spyOn(globalThis, 'setTimeout');
  const over = withinTime(new Promise(() => undefined), -0.2);
  await vi.advanceTimersByTimeAsync(0);
  expect([await over, timers.mock.calls.map(([, ms]) => ms)]).toEqual([undefined, [0]]);
});

it('work that is late can be an error that its caller words', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const late = (ms: number) => new Error(`not within ${ms}`);
  expect(await demandWithin(Promise.resolve(undefined), 5, late)).toBeUndefined();
  await expect(demandWithin(Promise.reject(new Error('own')), 5, late)).rejects.toThrow('own');
  const never = expect(demandWithin(new Promise(() => undefined), 5, late)).rejects;
  await Promise.all([never.toThrow('not within 5'), vi.advanceTimersByTimeAsync(5)]);
});
