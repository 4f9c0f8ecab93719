// Tests calls that run one at a time: which callers share one, and how long one is waited for.

import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { SharedCall, SoleCall } from '../../src/flow/shared-call.ts';

/** Calls that end when the test tells them to; each resolves with its number. */
function heldCalls() {
  const ends: (() => void)[] = [];
  const call = new SharedCall(async () => {
    const number = ends.length + 1;
    await new Promise<void>((resolve) => ends.push(resolve));
    return number;
  });
  return { call, ends };
}

it('whoever asks while a call runs waits for the next one, with all others who do', async () => {
  const { call, ends } = heldCalls();
  const first = call.ask();
  const later = [call.ask(), call.ask(), call.ask()];
  ends[0]?.();
  expect(await first).toBe(1);
  await sleep(0);
  const last = call.ask();
  await sleep(0);
  // Never two at a time.
  expect(ends).toHaveLength(2);
  ends[1]?.();
  expect(await Promise.all(later)).toEqual([2, 2, 2]);
  await sleep(0);
  ends[2]?.();
  expect(await last).toBe(3);
});

it('a call that fails fails for those who share it, and for nobody after them', async () => {
  let count = 0;
  const call = new SharedCall(async () => {
    count += 1;
    if (count === 1) throw new Error('the first one fails');
    return count;
  });
  const [first, second] = await Promise.allSettled([call.ask(), call.ask()]);
  expect(first.status).toBe('rejected');
  expect(second).toEqual({ status: 'fulfilled', value: 2 });
});

it('a sole call is not made again while an answer is owed, also one that comes too late or never', async () => {
  const answers: ((value: number) => void)[] = [];
  const call = new SoleCall(() => new Promise<number>((resolve) => answers.push(resolve)));
  expect(await call.ask(1)).toBeUndefined();
  expect(await call.ask(10_000)).toBeUndefined();
  expect(answers).toHaveLength(1);
  answers[0]?.(1);
  await sleep(0);
  const again = call.ask(10_000);
  answers[1]?.(2);
  expect(await again).toBe(2);
});

it('a sole call that fails is owed no longer', async () => {
  const call = new SoleCall(() => Promise.reject(new Error('failed')));
  for (let time = 0; time < 2; time++) await expect(call.ask(10_000)).rejects.toThrow('failed');
});
