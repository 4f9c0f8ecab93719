// Tests the feed of labels: the engine gets every change that the ledger has after the position it holds, in
// pages, and is not believed where that position says nothing.

import { expect, it } from 'vitest';
import { LabelFeed } from '../../src/fleet/label-feed.ts';
import { createLog } from '../../src/observe/log.ts';
import type { LabelChanges } from '../../src/store/fleet-ledger.ts';
import type { StoredLabels } from '../../src/store/label-store.ts';
import { createMemoryEngine } from '../../src/store/memory/memory-engine.ts';
import { storedLabelsOf } from '../store/engine/fleet-sample.ts';
import { ledgerAway } from '../support/fake-ledger.ts';

const PAGE_SIZE = 500;
const BACKLOG_MAX = 50_000;

/** The label changes of a ledger: `position` is that of each device's latest change. */
class FakeChanges {
  readonly devices = new Map<string, { revision: number; position: number }>();
  readonly pages: number[] = [];
  epoch = 0;
  newest = 0;
  fault: Error | undefined;

  change(...ids: string[]): void {
    for (const id of ids) {
      this.newest += 1;
      const revision = (this.devices.get(id)?.revision ?? 0) + 1;
      this.devices.delete(id);
      this.devices.set(id, { revision, position: this.newest });
    }
  }

  async readLabelChanges(after: number | undefined, limit: number): Promise<LabelChanges> {
    if (this.fault !== undefined) throw this.fault;
    const changed = [...this.devices]
      .filter(([, { position }]) => after !== undefined && position > after)
      .slice(0, limit)
      .map(([id, { revision, position }]) => ({ ...entry(id, revision), position }));
    this.pages.push(changed.length);
    return { epoch: this.epoch, newest: this.newest, changed };
  }
}

function entry(deviceId: string, revision: number): StoredLabels {
  return storedLabelsOf(deviceId, revision, new Map([['ring', `${revision}`]]));
}

function setUp() {
  const time = { now: 1000 };
  const engine = createMemoryEngine({ now: () => time.now });
  const ledger = new FakeChanges();
  const feedOf = () => new LabelFeed({ ledger, engine, log: createLog('silent') });
  /** Revision that the engine has of a device, negative when it is unconfirmed. */
  const cached = async (id: string) => {
    const [found] = await engine.getLabels([entry(id, 0)]);
    const revision = found?.stored?.revision;
    return revision && (found?.isConfirmed ? revision : -revision);
  };
  return { time, engine, ledger, feedOf, cached };
}

it('what the engine had before anybody knew a position is in doubt', async () => {
  const { time, engine, ledger, feedOf, cached } = setUp();
  await engine.putLabels([entry('a', 1)]);
  ledger.change('a', 'a');
  time.now += 1;
  await feedOf().feed();
  expect(await cached('a')).toBe(-1);
  expect(await engine.readLabelPosition()).toEqual({ epoch: 0, position: 2 });
  expect(ledger.pages).toEqual([0]);
});

it('changes that nobody told reach the engine, from the position on that any process left', async () => {
  const { ledger, engine, feedOf, cached } = setUp();
  await feedOf().feed();
  ledger.change('a', 'b');
  await feedOf().feed();
  expect([await cached('a'), await cached('b')]).toEqual([1, 1]);
  ledger.change('b');
  await feedOf().feed();
  expect([await cached('a'), await cached('b')]).toEqual([1, 2]);
  expect(ledger.pages).toEqual([0, 2, 1]);
  ledger.change('a');
  ledger.fault = ledgerAway();
  await expect(feedOf().feed()).rejects.toThrow();
  expect(await engine.readLabelPosition()).toEqual({ epoch: 0, position: 3 });
  ledger.fault = undefined;
  // A higher revision in the engine stays.
  await engine.putLabels([entry('a', 5)]);
  await feedOf().feed();
  expect(await cached('a')).toBe(5);
});

it('many changes are read in pages, each device with its latest', async () => {
  const { ledger, engine, feedOf, cached } = setUp();
  await feedOf().feed();
  const ids = Array.from({ length: 3 * PAGE_SIZE + 7 }, (_, index) => `${index}`);
  ledger.change(...ids, ...ids.slice(0, 100));
  await feedOf().feed();
  expect(Math.max(...ledger.pages)).toBe(PAGE_SIZE);
  expect(await Promise.all(ids.map(cached))).toEqual(ids.map((_, index) => (index < 100 ? 2 : 1)));
  expect((await engine.readLabelPosition())?.position).toBe(ledger.newest);
});

it('too many changes are not read: labels are in doubt instead', async () => {
  const { time, ledger, engine, feedOf, cached } = setUp();
  ledger.change('a', 'b');
  await feedOf().feed();
  await engine.putLabels([entry('a', 1)]);
  ledger.newest += BACKLOG_MAX;
  ledger.change('b');
  time.now += 1;
  await feedOf().feed();
  expect(await cached('a')).toBe(-1);
  expect((await engine.readLabelPosition())?.position).toBe(ledger.newest);
  // From there on, changes are followed again.
  ledger.change('a');
  await feedOf().feed();
  expect(await cached('a')).toBe(2);
});

it.each(['another epoch', 'a position that went back'])('%s puts all in doubt', async (reason) => {
  const { time, ledger, engine, feedOf, cached } = setUp();
  ledger.change('a', 'b');
  await feedOf().feed();
  await engine.putLabels([entry('a', 9)]);
  if (reason === 'another epoch') ledger.epoch = 3;
  else ledger.newest = 1;
  time.now += 1;
  await feedOf().feed();
  expect(await cached('a')).toBe(-9);
  const { epoch, newest } = ledger;
  expect(await engine.readLabelPosition()).toEqual({ epoch, position: newest });
  // In doubt, the labels of the time line that is gone give way to any.
  await engine.putLabels([entry('a', 1)]);
  expect(await cached('a')).toBe(1);
});
