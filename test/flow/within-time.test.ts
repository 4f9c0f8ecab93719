// Tests that an answer comes in time or is given up.

import { afterEach, expect, it, vi } from 'vitest';
import { demandWithin, withinTime } from '../../src/flow/within-time.ts';

afterEach(() => vi.useRealTimers());

it('gives what the work gives while there is time', async () => {
  expect(await withinTime(Promise.resolve('done'), 10_000)).toBe('done');
  await expect(withinTime(Promise.reject(new Error('failed')), 10_000)).rejects.toThrow('failed');
});

it('gives nothing after that, and a later failure of the work is not unhandled', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  let fail: (error: Error) => void = () => undefined;
  const work = new Promise<string>((_resolve, reject) => {
    fail = reject;
  });
  const given = withinTime(work, 5000);
  await vi.advanceTimersByTimeAsync(5000);
  expect(await given).toBeUndefined();
  fail(new Error('too late'));
  await expect(work).rejects.toThrow('too late');
});

it('gives the outcome, or the error that is demanded for one that is late', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const late = (ms: number) => new Error(`not within ${ms}`);
  expect(await demandWithin(Promise.resolve(undefined), 5, late)).toBeUndefined();
  await expect(demandWithin(Promise.reject(new Error('own')), 5, late)).rejects.toThrow('own');
  const never = expect(demandWithin(new Promise(() => undefined), 5, late)).rejects;
  await Promise.all([never.toThrow('not within 5'), vi.advanceTimersByTimeAsync(5)]);
});

it('gives nothing at once for a time that is over, and Node has no negative number to warn of', async () => {
  const timers = vi.spyOn(globalThis, 'setTimeout');
  try {
    expect(await withinTime(new Promise(() => undefined), -0.2)).toBeUndefined();
    expect(timers.mock.calls.map(([, ms]) => ms)).toEqual([0]);
  } finally {
    timers.mockRestore();
  }
});
