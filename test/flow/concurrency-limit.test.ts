// Tests the limit of concurrent work: a few at a time, the others in the order in which they came, and no
// place is ever lost.

import { expect, it, vi } from 'vitest';
import { Unavailable } from '../../src/contract/store-fault.ts';
import { ConcurrencyLimit } from '../../src/flow/concurrency-limit.ts';
import { settle } from '../serving/serving-node.ts';

/** Work that the test ends when it wants, with the order in which it began. */
function workbench(gate: ConcurrencyLimit) {
  const begun: number[] = [];
  const ends = new Map<number, () => void>();
  return {
    begun,
    pass: (id: number) =>
      gate.pass(async () => {
        begun.push(id);
        await new Promise<void>((resolve) => ends.set(id, resolve));
        return id;
      }),
    async end(id: number): Promise<void> {
      ends.get(id)?.();
      await settle();
    },
  };
}

it('sends away at once who finds too many waiting, without beginning their work', async () => {
  const { begun, pass, end } = workbench(new ConcurrencyLimit(2, 2));
  const passes = [0, 1, 2, 3].map(pass);
  await expect(pass(4)).rejects.toBeInstanceOf(Unavailable);
  expect(begun).toEqual([0, 1]);
  await end(1);
  const late = pass(5);
  // Whoever leaves next, as many run as may.
  for (const [id, left] of [
    [0, 2],
    [3, 3],
    [2, 4],
    [5, 5],
  ] as const) {
    expect(begun).toHaveLength(Math.min(left + 1, 5));
    await end(id);
  }
  expect(await Promise.all([...passes, late])).toEqual([0, 1, 2, 3, 5]);
  expect(begun).toEqual([0, 1, 2, 3, 5]);
});

it('gives the place on when work fails, be it before its first wait', async () => {
  const gate = new ConcurrencyLimit(1, 10);
  const failing = [
    gate.pass(async () => {
      await settle();
      throw new Error('late');
    }),
    gate.pass(() => {
      throw new Error('at once');
    }),
    gate.pass(() => Promise.reject(new Error('rejected'))),
  ];
  const last = gate.pass(async () => 'done');
  const messages = (await Promise.allSettled(failing)).map((outcome) =>
    outcome.status === 'rejected' ? (outcome.reason as Error).message : 'passed',
  );
  expect(messages).toEqual(['late', 'at once', 'rejected']);
  expect(await last).toBe('done');
});

it('refuses a task whose turn comes too late, and runs the next one in time', async () => {
  const limit = new ConcurrencyLimit(1, 10, 5000);
  const now = vi.spyOn(performance, 'now').mockReturnValue(0);
  const first = limit.pass(() => settle());
  const late = limit.pass(async () => 'late');
  now.mockReturnValue(5000);
  const timely = limit.pass(async () => 'timely');
  now.mockReturnValue(5001);
  await first;
  await expect(late).rejects.toBeInstanceOf(Unavailable);
  expect(await timely).toBe('timely');
  now.mockRestore();
});

it('can refuse all that wait: what runs goes on, and later tasks are served', async () => {
  const limit = new ConcurrencyLimit(1, 10);
  const { pass, end, begun } = workbench(limit);
  const running = pass(0);
  const waiting = [pass(1), pass(2)].map((task) => expect(task).rejects.toThrow('has ended'));
  limit.rejectWaiting(new Unavailable('ledger', 'its process has ended'));
  await Promise.all(waiting);
  const later = pass(3);
  await end(0);
  await end(3);
  expect(await Promise.all([running, later])).toEqual([0, 3]);
  expect(begun).toEqual([0, 3]);
});

it('tells when nothing runs and nothing waits', async () => {
  const limit = new ConcurrencyLimit(1, 10);
  await limit.whenIdle();
  const { pass, end } = workbench(limit);
  const passes = [pass(0), pass(1)];
  let isIdle = false;
  const idle = limit.whenIdle().then(() => {
    isIdle = true;
  });
  await end(0);
  expect(isIdle).toBe(false);
  await end(1);
  await idle;
  expect(await Promise.all(passes)).toEqual([0, 1]);
});
