// Turns on one connection.

import { expect, test, vi } from 'vitest';
import { ExclusiveQueue } from '../../src/ledger/exclusive-queue.ts';
import { Unavailable } from '../../src/ports/unavailable.ts';
import { sleep } from '../support/eventually.ts';

test('tasks run one at a time, in the order they came, also after one that failed', async () => {
  const queue = new ExclusiveQueue();
  const order: string[] = [];
  const run = (name: string) =>
    queue.run(async () => {
      order.push(`${name} begins`);
      await sleep(5);
      order.push(`${name} ends`);
      if (name === 'b') throw new Error('b failed');
    });
  const outcomes = await Promise.allSettled(['a', 'b', 'c'].map(run));
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  const expected = ['a', 'b', 'c'].flatMap((name) => [`${name} begins`, `${name} ends`]);
  expect(order).toEqual(expected);
});

test('a turn that comes too late is unavailable, and the next one is served', async () => {
  const queue = new ExclusiveQueue();
  const now = vi.spyOn(performance, 'now').mockReturnValue(0);
  const first = queue.run(() => sleep(5));
  const late = queue.run(async () => 'late');
  now.mockReturnValue(5000);
  const timely = queue.run(async () => 'timely');
  now.mockReturnValue(5001);
  await first;
  await expect(late).rejects.toBeInstanceOf(Unavailable);
  expect(await timely).toBe('timely');
  now.mockRestore();
});

test('those who wait can be sent away; whoever has the turn keeps it', async () => {
  const queue = new ExclusiveQueue();
  const running = queue.run(async () => {
    await sleep(5);
    return 'done';
  });
  const waiting = queue.run(async () => 'never');
  queue.rejectWaiting(new Error('the process has ended'));
  await expect(waiting).rejects.toBeInstanceOf(Unavailable);
  expect(await running).toBe('done');
  await queue.whenIdle();
});
