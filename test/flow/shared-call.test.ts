// Tests which callers share a call: no caller gets a call that began before it asked, and no two calls run at
// a time.

import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { SharedCall } from '../../src/flow/shared-call.ts';

/** Calls that end when the test tells them to; each resolves with its number. */
function heldCalls() {
  const ends: (() => void)[] = [];
  let running = 0;
  let runningMax = 0;
  const call = new SharedCall(async () => {
    const number = ends.length + 1;
    running += 1;
    runningMax = Math.max(runningMax, running);
    await new Promise<void>((resolve) => ends.push(resolve));
    running -= 1;
    return number;
  });
  return { call, ends, runningMax: () => runningMax };
}

it('whoever asks while a call runs waits for the next one, with all others who do', async () => {
  const { call, ends } = heldCalls();
  const first = call.ask();
  const later = [call.ask(), call.ask(), call.ask()];
  ends[0]?.();
  expect(await first).toBe(1);
  await sleep(0);
  expect(ends).toHaveLength(2);
  ends[1]?.();
  expect(await Promise.all(later)).toEqual([2, 2, 2]);
});

it('never two at a time, whenever somebody asks', async () => {
  const { call, ends, runningMax } = heldCalls();
  const asked = [call.ask()];
  for (let round = 0; round < 20; round++) {
    asked.push(call.ask());
    ends.at(-1)?.();
    // Between the end of one call and the start of the next there are turns in which callers can ask.
    for (let turn = 0; turn < round % 5; turn++) await Promise.resolve();
    asked.push(call.ask());
    await sleep(0);
  }
  while (ends.length > 0) {
    ends.pop()?.();
    await sleep(0);
  }
  await Promise.all(asked);
  expect(runningMax()).toBe(1);
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
