// Tests the feed of actions: the engine gets every change that the ledger has after the position it holds, in
// pages, and what it may have missed where that position says nothing (docs/contract.md 34.47).

import { expect, it } from 'vitest';
import { feedActions } from '../../src/fleet/action-feed.ts';
import type { ActionChanges } from '../../src/store/fleet-ledger.ts';
import { createMemoryEngine } from '../../src/store/memory/memory-engine.ts';

/** The changes of actions of a ledger, at one position each: device `n` at position `n`. */
class FakeChanges {
  epoch = 1;
  newest = 0;
  revision = 1;
  readonly asked: (number | undefined)[] = [];

  async readActionChanges(after: number | undefined, limit: number): Promise<ActionChanges> {
    this.asked.push(after);
    const from = after ?? this.newest;
    const changed = Array.from(
      { length: Math.max(0, Math.min(this.newest - from, limit)) },
      (_, at) => ({
        ...{ appId: 'app_1', deviceId: String(from + at + 1), position: from + at + 1 },
        ...{ revision: this.revision, text: `at ${this.revision}` },
      }),
    );
    return { epoch: this.epoch, newest: this.newest, changed };
  }
}

function setUp() {
  const engine = createMemoryEngine();
  const ledger = new FakeChanges();
  return {
    engine,
    ledger,
    /** Takes turns until there is nothing left. */
    async feed(): Promise<void> {
      while (await feedActions({ ledger, engine }));
    },
    async held(deviceId: number) {
      const [found] = await engine.getActions([{ appId: 'app_1', deviceId: String(deviceId) }]);
      return found?.text;
    },
  };
}

it('changes of others reach the engine in pages, from the position on that any process left', async () => {
  const { engine, ledger, feed, held } = setUp();
  await feed();
  ledger.newest = 1200;
  await feed();
  expect(await held(1200)).toBe('at 1');
  expect(await engine.readActionPosition()).toEqual({ epoch: 1, position: 1200 });
  expect(ledger.asked).toEqual([undefined, 0, 0, 500, 1000]);
  ledger.asked.length = 0;
  await feed();
  expect(ledger.asked).toEqual([1200]);
});

it('a change that the engine has already, or a later one, stays', async () => {
  const { engine, ledger, feed, held } = setUp();
  await engine.putActions([{ appId: 'app_1', deviceId: '2', revision: 5, text: 'later' }]);
  ledger.newest = 3;
  await feed();
  expect([await held(1), await held(2), await held(3)]).toEqual(['at 1', 'later', 'at 1']);
});

it('where the position is unknown, or of another time line, the last 10,000 are read again', async () => {
  const { engine, ledger, feed, held } = setUp();
  ledger.newest = 15_000;
  await feed();
  expect([await held(5000), await held(5001)]).toEqual([undefined, 'at 1']);
  // The ledger went back, and other changes have the positions.
  ledger.epoch = 2;
  ledger.newest = 14_000;
  ledger.revision = 2;
  await feed();
  expect([await held(4000), await held(4001), await held(14_000)]).toEqual([
    undefined,
    'at 2',
    'at 2',
  ]);
  expect(await engine.readActionPosition()).toEqual({ epoch: 2, position: 14_000 });
});
