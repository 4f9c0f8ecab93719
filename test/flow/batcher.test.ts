// Tests that single questions go out as few batches: those of one moment together, and under load those that
// had to wait.

import { describe, expect, it } from 'vitest';
import { Unavailable } from '../../src/contract/store-fault.ts';
import { Batcher } from '../../src/flow/batcher.ts';

/** A batcher on a store that answers each batch when the test tells it to. */
function setUp({ batchSizeMax = 3, batchesMax = 2, pendingMax = 100 } = {}) {
  const asked: (readonly number[])[] = [];
  const gates: { open: () => void; break: (error: Error) => void }[] = [];
  const batcher = new Batcher<number, string>({
    ask: (items) => {
      asked.push(items);
      return new Promise((resolve, reject) => {
        gates.push({ open: () => resolve(items.map((item) => `of ${item}`)), break: reject });
      });
    },
    batchSizeMax,
    batchesMax,
    pendingMax,
  });
  return { batcher, asked, gates };
}

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

describe('a batcher', () => {
  it('has no more batches in flight than it may: what waits goes out together, oldest first', async () => {
    const { batcher, asked, gates } = setUp();
    const answers: Promise<string>[] = [];
    for (const item of [1, 2, 3, 4, 5, 6]) {
      answers.push(batcher.ask(item));
      await nextTurn();
    }
    expect(asked).toEqual([[1], [2]]);
    gates[0]?.open();
    expect(await answers[0]).toBe('of 1');
    await nextTurn();
    expect(asked.slice(2)).toEqual([[3, 4, 5]]);
    gates[1]?.open();
    await answers[1];
    await nextTurn();
    expect(asked.slice(3)).toEqual([[6]]);
    for (const gate of gates) gate.open();
    expect(await Promise.all(answers)).toEqual([1, 2, 3, 4, 5, 6].map((item) => `of ${item}`));
  });

  it('rejects all of a batch that fails, and goes on with what waits', async () => {
    const { batcher, asked, gates } = setUp({ batchesMax: 1 });
    const failed = [1, 2].map((item) => batcher.ask(item));
    const outcomes = Promise.allSettled(failed);
    await nextTurn();
    const later = batcher.ask(3);
    gates[0]?.break(new Error('away'));
    expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await nextTurn();
    expect(asked).toEqual([[1, 2], [3]]);
    gates[1]?.open();
    expect(await later).toBe('of 3');
  });

  it('refuses more than may be pending at once, until some are answered', async () => {
    const { batcher, gates } = setUp({ pendingMax: 2 });
    const answers = [batcher.ask(1), batcher.ask(2)];
    await expect(batcher.ask(3)).rejects.toBeInstanceOf(Unavailable);
    const told: unknown[] = [];
    const asker = {
      answered: (text: string) => told.push(text),
      failed: () => told.push('failed'),
    };
    expect(batcher.tell(3, asker)).toBe(false);
    await nextTurn();
    gates[0]?.open();
    await Promise.all(answers);
    await nextTurn();
    const again = batcher.ask(4);
    await nextTurn();
    gates[1]?.open();
    expect([await again, told]).toEqual(['of 4', []]);
  });

  it('tells an asker without a promise, in the turn of the answer, and whatever it asks then goes out', async () => {
    const { batcher, asked, gates } = setUp();
    const told: string[] = [];
    const asker = {
      answered(answer: string) {
        told.push(answer);
        if (answer === 'of 1') batcher.tell(3, asker);
      },
      failed: (error: unknown) => void told.push(String(error)),
    };
    expect([1, 2].map((item) => batcher.tell(item, asker))).toEqual([true, true]);
    const promised = batcher.ask(9);
    await nextTurn();
    expect(asked).toEqual([[1, 2, 9]]);
    gates[0]?.open();
    expect(await promised).toBe('of 9');
    expect(told).toEqual(['of 1', 'of 2']);
    await nextTurn();
    expect(asked.slice(1)).toEqual([[3]]);
    gates[1]?.break(new Error('away'));
    await nextTurn();
    expect(told.slice(2)).toEqual(['Error: away']);
  });
});
