// Rules of the snapshots that an engine keeps, run unchanged on every implementation.

import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { ServingSnapshot } from '../../../src/domain/decision/serving-snapshot.ts';
import { editionOf, snapshotOf } from './engine-contract.ts';
import type { EnginesUnderTest, Rule } from './engines-under-test.ts';

export function snapshotRules(nodes: () => EnginesUnderTest, it: Rule): void {
  it('a stored snapshot is read back whole by every node', async () => {
    const { engine, second } = nodes();
    const snapshot = snapshotOf(randomUUID(), 'stable', 7);
    expect(await second.getSnapshot(snapshot.appRef, 'stable')).toBeUndefined();
    expect(await engine.putSnapshot(snapshot)).toBeUndefined();
    expect(await engine.getSnapshot(snapshot.appRef, 'stable')).toEqual(snapshot);
    expect(await second.getSnapshot(snapshot.appRef, 'stable')).toEqual(snapshot);
  });

  it("a snapshot's revision only moves forward, from 0 on, whatever order writers arrive in", async () => {
    const { engine, second } = nodes();
    const app = randomUUID();
    const put = (revision: number, node = engine) =>
      node.putSnapshot(snapshotOf(app, 'stable', revision));
    // Compared as numbers: as text, 10 would stand before 9.
    for (const [before, revision] of [
      [0, 0],
      [0, 9],
      [9, 10],
    ] as const) {
      expect(await put(revision)).toBeUndefined();
      const kept = { epoch: 0, revision };
      for (const node of [engine, second]) expect(await put(revision, node)).toEqual(kept);
      if (before !== revision) expect(await put(before, second)).toEqual(kept);
    }
    expect((await engine.getSnapshot(app, 'stable'))?.revision).toBe(10);
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

  it('what a snapshot is can be read without its content', async () => {
    const { engine, second } = nodes();
    const snapshot = snapshotOf(randomUUID(), 'stable', 7, 2);
    expect(await engine.getSnapshotHead(snapshot.appRef, 'stable')).toBeUndefined();
    await engine.putSnapshot(snapshot);
    const head = { channelId: snapshot.channelId, epoch: 2, revision: 7, offered: 1 };
    expect(await second.getSnapshotHead(snapshot.appRef, 'stable')).toEqual(head);
  });

  it('a higher epoch counts before any revision, and a lower one never replaces it', async () => {
    const { engine, second } = nodes();
    const app = randomUUID();
    expect(await engine.putSnapshot(snapshotOf(app, 'stable', 90))).toBeUndefined();
    expect(await second.putSnapshot(snapshotOf(app, 'stable', 3, 1))).toBeUndefined();
    const kept = { epoch: 1, revision: 3 };
    expect(await engine.putSnapshot(snapshotOf(app, 'stable', 91))).toEqual(kept);
    expect(await engine.putSnapshot(snapshotOf(app, 'stable', 2, 1))).toEqual(kept);
    expect(await second.getSnapshot(app, 'stable')).toMatchObject(kept);
    // Compared as numbers: as text, 10 would stand before 9.
    expect(await engine.putSnapshot(snapshotOf(app, 'stable', 1, 9))).toBeUndefined();
    expect(await engine.putSnapshot(snapshotOf(app, 'stable', 1, 10))).toBeUndefined();
    expect(await engine.getSnapshot(app, 'stable')).toMatchObject({ epoch: 10, revision: 1 });
  });

  it('of 50 writers at once the highest revision stays', async () => {
    const { engine, second } = nodes();
    const app = randomUUID();
    // 17 has no factor in common with 50: every revision once, in no order.
    const revisions = Array.from({ length: 50 }, (_, index) => ((index * 17) % 50) + 1);
    const stored = await Promise.all(
      revisions.map((revision, index) =>
        (index % 2 === 0 ? engine : second).putSnapshot(snapshotOf(app, 'stable', revision)),
      ),
    );
    expect(stored[revisions.indexOf(50)]).toBeUndefined();
    expect(await engine.getSnapshot(app, 'stable')).toEqual(snapshotOf(app, 'stable', 50));
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

  it('a channel with megabytes of notes fits', async () => {
    const { engine, second } = nodes();
    const small = snapshotOf(randomUUID(), 'stable', 1);
    const [release] = small.releases;
    if (release === undefined) throw new Error('the sample has a release');
    const releases = Array.from({ length: 16 }, (_, index) => ({
      ...release,
      edition: `long-${index}`,
      notes: `${index} ${'é'.repeat(128_000)}`,
    }));
    await engine.putSnapshot({ ...small, releases });
    const read = await second.getSnapshot(small.appRef, 'stable');
    expect(read?.releases).toEqual(releases);
  });

  it('a channel of 3,000 releases is stored and read whole, change after change', async () => {
    const { engine, second } = nodes();
    const small = snapshotOf(randomUUID(), 'stable', 1);
    let releases = Array.from({ length: 3000 }, (_, index) => editionOf(`e${index}`));
    let known: ServingSnapshot | undefined;
    for (let revision = 1; revision <= 5; revision++) {
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

  it('what the caller knows already changes nothing of the result', async () => {
    const { engine, second } = nodes();
    const small = snapshotOf(randomUUID(), 'stable', 1);
    const releases = [editionOf('a'), editionOf('b'), editionOf('c')];
    await engine.putSnapshot({ ...small, releases });
    const known = { ...small, releases: structuredClone(releases) };
    await engine.putSnapshot({ ...small, revision: 2, releases: [...releases, editionOf('d')] });
    const read = await second.getSnapshot(small.appRef, 'stable', known);
    expect(read?.releases).toEqual([...releases, editionOf('d')]);
  });

  it('of writers at once, each with releases of its own, the newest snapshot is whole', async () => {
    const { engine, second } = nodes();
    const small = snapshotOf(randomUUID(), 'stable', 1);
    const snapshots = Array.from({ length: 20 }, (_, index) => ({
      ...small,
      revision: index + 1,
      releases: Array.from({ length: 30 }, (_each, at) => editionOf(`r${index}-${at}`)),
    }));
    await Promise.all(
      snapshots.map((snapshot, index) => (index % 2 === 0 ? engine : second).putSnapshot(snapshot)),
    );
    expect(await second.getSnapshot(small.appRef, 'stable')).toEqual(snapshots.at(-1));
  });
}
