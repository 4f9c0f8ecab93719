// Rules of the snapshots that an engine keeps, run unchanged on every implementation.

import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { ServingSnapshot } from '../../../src/domain/decision/serving-snapshot.ts';
import { editionOf, snapshotOf } from './engine-contract.ts';
import type { EnginesUnderTest, Rule } from './engines-under-test.ts';

export function snapshotRules(nodes: () => EnginesUnderTest, it: Rule): void {
  it("a snapshot's epoch, then its revision, only moves forward, whatever order writers arrive in", async () => {
    const { engine, second } = nodes();
    const app = randomUUID();
    const put = ([epoch, revision]: readonly [number, number], node = engine) =>
      node.putSnapshot(snapshotOf(app, 'stable', revision, epoch));
    expect(await engine.getSnapshotHead(app, 'stable')).toBeUndefined();
    // Compared as numbers: as text, 10 would stand before 9.
    const states = [
      [0, 0],
      [0, 9],
      [0, 10],
      [0, 90],
      [1, 3],
      [9, 1],
      [10, 1],
    ] as const;
    for (const [at, state] of states.entries()) {
      expect(await put(state)).toBeUndefined();
      const kept = { epoch: state[0], revision: state[1] };
      for (const node of [engine, second]) expect(await put(state, node)).toEqual(kept);
      for (const before of states.slice(0, at)) expect(await put(before, second)).toEqual(kept);
      const head = { channelId: 'chn_stable', ...kept, offered: 1 };
      expect(await second.getSnapshotHead(app, 'stable')).toEqual(head);
      expect(await engine.getSnapshot(app, 'stable')).toMatchObject(kept);
    }
  });

  it('within a revision, a snapshot that knows of more offers is stored, one with fewer is not', async () => {
    const { engine, second } = nodes();
    const offered = snapshotOf(randomUUID(), 'stable', 5);
    const before = {
      ...offered,
      releases: offered.releases.map((release) => ({ ...release, offered: false })),
    };
    expect(await engine.putSnapshot(before)).toBeUndefined();
    expect(await second.putSnapshot(offered)).toBeUndefined();
    expect(await engine.putSnapshot(before)).toEqual({ epoch: 0, revision: 5 });
    expect(await engine.getSnapshot(offered.appRef, 'stable')).toEqual(offered);
  });

  it('a snapshot that another database left under the same name gives way', async () => {
    const { engine, second } = nodes();
    const leftOver = snapshotOf(randomUUID(), 'stable', 90);
    const present = {
      ...snapshotOf(leftOver.appRef, 'stable', 1),
      channelId: 'chn_of_new_database',
    };
    expect(await engine.putSnapshot(leftOver)).toBeUndefined();
    expect(await second.putSnapshot(present)).toBeUndefined();
    expect(await engine.getSnapshot(leftOver.appRef, 'stable')).toEqual(present);
  });

  it('channels and apps do not touch each other', async () => {
    const { engine } = nodes();
    const [app, other] = [randomUUID(), randomUUID()];
    await engine.putSnapshot(snapshotOf(app, 'stable', 5));
    await engine.putSnapshot(snapshotOf(app, 'beta', 2));
    await engine.putSnapshot(snapshotOf(other, 'stable', 1));
    expect((await engine.getSnapshot(app, 'stable'))?.revision).toBe(5);
    expect((await engine.getSnapshot(app, 'beta'))?.revision).toBe(2);
    expect((await engine.getSnapshot(other, 'stable'))?.revision).toBe(1);
  });

  it('a channel of 3,000 releases is stored and read whole, change after change', async () => {
    const { engine, second } = nodes();
    const small = snapshotOf(randomUUID(), 'stable', 1);
    // Megabytes of notes fit.
    const long = ['x', 'y', 'z'].map((each) => ({
      ...editionOf(each),
      notes: 'é'.repeat(500_000),
    }));
    let releases = Array.from({ length: 3000 }, (_, index) => editionOf(`e${index}`));
    releases.push(...small.releases, ...long);
    let known: ServingSnapshot | undefined;
    for (let revision = 1; revision <= 3; revision++) {
      const snapshot = { ...small, revision, releases };
      expect(await (revision % 2 === 0 ? second : engine).putSnapshot(snapshot)).toBeUndefined();
      const read = await second.getSnapshot(small.appRef, 'stable', known);
      expect(read).toEqual(snapshot);
      known = read;
      // One release changes, one is new, one was offered.
      releases = releases.with(7, editionOf(`changed-${revision}`));
      releases.push(editionOf(`new-${revision}`));
      releases = releases.with(9, { ...editionOf('e9'), offered: revision % 2 === 0 });
    }
  });

  it('of writers at once, each with releases of its own, the newest snapshot is whole', async () => {
    const { engine, second } = nodes();
    const small = snapshotOf(randomUUID(), 'stable', 1);
    // 7 has no factor in common with 20: every revision once, in no order.
    const snapshots = Array.from({ length: 20 }, (_, index) => ({
      ...small,
      revision: ((index * 7) % 20) + 1,
      releases: Array.from({ length: 30 }, (_each, at) => editionOf(`r${index}-${at}`)),
    }));
    await Promise.all(
      snapshots.map((snapshot, index) => (index % 2 === 0 ? engine : second).putSnapshot(snapshot)),
    );
    expect(await second.getSnapshot(small.appRef, 'stable')).toEqual(
      snapshots.find(({ revision }) => revision === 20),
    );
  });
}
