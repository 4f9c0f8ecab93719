// Tests that no second call starts while the first has not been answered.

import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { SoleCall } from '../../src/flow/shared-call.ts';

it('is answered in time, or not at all', async () => {
  expect(await new SoleCall(async () => 1).ask(10_000)).toBe(1);
  expect(await new SoleCall(() => new Promise<number>(() => {})).ask(1)).toBeUndefined();
});

it('is not made again while an answer is owed, also one that comes too late', async () => {
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

it('that fails is owed no longer', async () => {
  let made = 0;
  const call = new SoleCall(async () => {
    made += 1;
    throw new Error(`failed ${made}`);
  });
  await expect(call.ask(10_000)).rejects.toThrow('failed 1');
  await expect(call.ask(10_000)).rejects.toThrow('failed 2');
});
