// The contract of engines. Each implementation runs this suite unchanged. Check-ins, labels and device
// windows have files of their own: check-in-, label- and device-rate-contract.
//
// Names are random in every test, so that the tests may share a store. The queue of check-ins has no name: no
// other user of the store may be active meanwhile.

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type {
  ServingSnapshot,
  SnapshotRelease,
} from '../../src/domain/decision/serving-snapshot.ts';
import type { Announcement, Engine } from '../../src/ports/engine.ts';
import { Unavailable } from '../../src/ports/unavailable.ts';
import { eventually, sleep } from '../support/eventually.ts';
import { packCheckIns } from '../support/pack-check-ins.ts';
import { channelNameRules } from './channel-names-contract.ts';
import { checkInRules } from './check-in-contract.ts';
import { deviceRateRules } from './device-rate-contract.ts';
import type { EnginesUnderTest } from './engines-under-test.ts';
import { checkInOf, storedLabelsOf } from './fleet-sample.ts';
import { labelRules } from './label-contract.ts';

// Timers may fire a little early, and the clock that decides is the store's.
const TIMER_SLACK_MS = 3;

/** Declares the suite; `make` gives connected engines. */
export function engineContract(name: string, make: () => Promise<EnginesUnderTest>): void {
  describe(`engine contract: ${name}`, () => {
    let nodes: EnginesUnderTest;
    beforeAll(async () => {
      nodes = await make();
    });
    afterAll(() => nodes?.dispose());

    describe('snapshots', () => snapshotRules(() => nodes));
    describe('announcements', () => announcementRules(() => nodes));
    describe('rate windows', () => rateRules(() => nodes));
    describe('device windows', () => deviceRateRules(() => nodes));
    describe('names of channels', () => channelNameRules(() => nodes));
    describe('check-ins', () => checkInRules(() => nodes));
    describe('labels', () => labelRules(() => nodes));
    describe('closing', () => closingRules(make));
  });
}

export function snapshotOf(
  appRef: string,
  channel: string,
  revision: number,
  epoch = 0,
): ServingSnapshot {
  return {
    appId: `app_${appRef}`,
    appRef,
    channelId: `chn_${channel}`,
    channel,
    epoch,
    revision,
    updateMode: 'recommended',
    minimumSupportedVersion: revision % 2 === 0 ? '1.0.0' : null,
    requireSignature: revision % 2 === 1,
    follows: revision % 2 === 1 ? 'base' : null,
    releases: [
      {
        id: `rel_${revision}`,
        edition: `edition-${revision}`,
        version: `1.0.${revision}`,
        notes: `Größer, schneller 🚀 "quoted" \\ \u0000 ${revision}`,
        status: 'published',
        rolloutPct: 25,
        targets: { matchLabels: { ring: ['a', 'b'] }, matchExpressions: [] },
        offered: true,
        followed: revision % 2 === 1,
        createdAt: '2026-01-02T03:04:05.678Z',
        artifacts: [{ platform: 'linux', url: 'https://example.com/a', size: 1 }],
      },
    ],
  };
}

/** A release of this edition, which was not offered. */
export function editionOf(edition: string): SnapshotRelease {
  return {
    id: `rel_${edition}`,
    edition,
    version: '1.0.0',
    notes: edition,
    status: 'published',
    rolloutPct: 100,
    targets: null,
    offered: false,
    followed: false,
    createdAt: '2026-01-02T03:04:05.678Z',
    artifacts: [],
  };
}

export function announcementOf(appRef: string, revision: number): Announcement {
  return { appRef, channel: 'stable', channelId: 'chn_1', epoch: 0, revision };
}

/** Subscribes and waits until announcements arrive; then collects the revisions of one app. */
export async function listenTo(engine: Engine, appRef: string) {
  const revisions: number[] = [];
  const heard = { revisions, resumedCount: 0 };
  let isHearing = false;
  const probe = randomUUID();
  engine.subscribe(
    (announcement) => {
      if (announcement.appRef === appRef) revisions.push(announcement.revision);
      if (announcement.appRef === probe) isHearing = true;
    },
    () => {
      heard.resumedCount += 1;
    },
  );
  await eventually('the engine hears announcements', async () => {
    await engine.announce(announcementOf(probe, 1));
    return isHearing;
  });
  return heard;
}

function snapshotRules(nodes: () => EnginesUnderTest): void {
  it('a channel nobody stored has no snapshot', async () => {
    expect(await nodes().engine.getSnapshot(randomUUID(), 'stable')).toBeUndefined();
  });

  it('a stored snapshot is read back whole by every node', async () => {
    const { engine, second } = nodes();
    const snapshot = snapshotOf(randomUUID(), 'stable', 7);
    expect(await engine.putSnapshot(snapshot)).toBeUndefined();
    expect(await engine.getSnapshot(snapshot.appRef, 'stable')).toEqual(snapshot);
    expect(await second.getSnapshot(snapshot.appRef, 'stable')).toEqual(snapshot);
  });

  it("a snapshot's revision only moves forward, whatever order writers arrive in", async () => {
    const { engine, second } = nodes();
    const app = randomUUID();
    expect(await engine.putSnapshot(snapshotOf(app, 'stable', 9))).toBeUndefined();
    expect(await second.putSnapshot(snapshotOf(app, 'stable', 8))).toEqual({
      epoch: 0,
      revision: 9,
    });
    // Compared as numbers: as text, 10 would stand before 9.
    expect(await second.putSnapshot(snapshotOf(app, 'stable', 10))).toBeUndefined();
    expect(await engine.putSnapshot(snapshotOf(app, 'stable', 9))).toEqual({
      epoch: 0,
      revision: 10,
    });
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

  it('the same revision is stored once', async () => {
    const { engine, second } = nodes();
    const app = randomUUID();
    expect(await engine.putSnapshot(snapshotOf(app, 'stable', 3))).toBeUndefined();
    expect(await engine.putSnapshot(snapshotOf(app, 'stable', 3))).toEqual({
      epoch: 0,
      revision: 3,
    });
    expect(await second.putSnapshot(snapshotOf(app, 'stable', 3))).toEqual({
      epoch: 0,
      revision: 3,
    });
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

  it('revision 0 is a revision like any other', async () => {
    const { engine } = nodes();
    const app = randomUUID();
    expect(await engine.putSnapshot(snapshotOf(app, 'stable', 0))).toBeUndefined();
    expect(await engine.putSnapshot(snapshotOf(app, 'stable', 0))).toEqual({
      epoch: 0,
      revision: 0,
    });
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

function announcementRules(nodes: () => EnginesUnderTest): void {
  it("every node hears a channel's announcements, its own too, once each and in order", async () => {
    const { engine, second } = nodes();
    const app = randomUUID();
    const heard = [await listenTo(engine, app), await listenTo(second, app)];
    const revisions = Array.from({ length: 40 }, (_, index) => index + 1);
    for (const revision of revisions) await engine.announce(announcementOf(app, revision));
    await eventually('all are heard', () => heard.every((one) => one.revisions.length >= 40));
    await sleep(50);
    for (const one of heard) expect(one.revisions).toEqual(revisions);
  });

  it('an announcement arrives as it was made', async () => {
    const { engine, second } = nodes();
    const names = { appRef: randomUUID(), channel: 'beta', channelId: 'chn_ü' };
    const sent = { ...names, epoch: 3, revision: 2 ** 40, offeredReleaseId: 'rel_ü' };
    const heard: Announcement[] = [];
    await listenTo(second, sent.appRef);
    second.subscribe(
      (announcement) => {
        if (announcement.appRef === sent.appRef) heard.push(announcement);
      },
      () => {},
    );
    await engine.announce(sent);
    await eventually('it is heard', () => heard.length > 0);
    expect(heard).toEqual([sent]);
  });

  it('all listeners of a node hear', async () => {
    const { engine } = nodes();
    const app = randomUUID();
    const heard = [await listenTo(engine, app), await listenTo(engine, app)];
    await engine.announce(announcementOf(app, 1));
    await eventually('both hear', () => heard.every((one) => one.revisions.length > 0));
  });

  it('the first start of hearing is no resumption', async () => {
    const { engine } = nodes();
    const heard = await listenTo(engine, randomUUID());
    await sleep(50);
    expect(heard.resumedCount).toBe(0);
  });
}

function rateRules(nodes: () => EnginesUnderTest): void {
  it('up to the limit requests are allowed, the next is refused until the oldest leaves', async () => {
    const { engine, second } = nodes();
    const key = randomUUID();
    const allowed = { isAllowed: true, waitMs: 0 };
    const first = await engine.countRequest(key, 3, 10_000);
    expect(first).toEqual({ ...allowed, remaining: 2, leaveMs: 10_000 });
    await sleep(100);
    const next = await second.countRequest(key, 3, 10_000);
    expect(next).toMatchObject({ ...allowed, remaining: 1 });
    expect(next.leaveMs).toBeGreaterThan(9_000);
    expect(next.leaveMs).toBeLessThanOrEqual(9_905);
    const last = await engine.countRequest(key, 3, 10_000);
    expect(last).toMatchObject({ ...allowed, remaining: 0 });
    const refused = await second.countRequest(key, 3, 10_000);
    expect(refused).toMatchObject({ isAllowed: false, remaining: 0, leaveMs: refused.waitMs });
    expect(refused.waitMs).toBeGreaterThan(9_000);
    expect(refused.waitMs).toBeLessThanOrEqual(9_905);
  });

  it('what is forgotten begins anew, on every node, and nothing else does', async () => {
    const { engine, second } = nodes();
    const [key, other] = [randomUUID(), randomUUID()];
    for (const each of [key, other]) await engine.countRequest(each, 1, 10_000);
    await second.forgetRequests(key);
    await second.forgetRequests(randomUUID());
    expect((await engine.countRequest(key, 1, 10_000)).isAllowed).toBe(true);
    expect((await engine.countRequest(key, 1, 10_000)).isAllowed).toBe(false);
    expect((await engine.countRequest(other, 1, 10_000)).isAllowed).toBe(false);
  });

  it('whoever waits as long as told is served', async () => {
    const { engine } = nodes();
    const key = randomUUID();
    for (let round = 0; round < 3; round++) {
      expect((await engine.countRequest(key, 1, 250)).isAllowed).toBe(true);
      const { isAllowed, waitMs } = await engine.countRequest(key, 1, 250);
      expect(isAllowed).toBe(false);
      expect(waitMs).toBeGreaterThan(0);
      expect(waitMs).toBeLessThanOrEqual(250);
      await sleep(waitMs + TIMER_SLACK_MS);
    }
  });

  it('a refused request does not count', async () => {
    const { engine } = nodes();
    const key = randomUUID();
    await engine.countRequest(key, 1, 300);
    const end = performance.now() + 250;
    let last = await engine.countRequest(key, 1, 300);
    while (performance.now() < end) {
      last = await engine.countRequest(key, 1, 300);
      expect(last.isAllowed).toBe(false);
      await sleep(10);
    }
    // The wait still counts from the request that was allowed, some 240 ms ago.
    expect(last.waitMs).toBeLessThanOrEqual(100);
    await sleep(last.waitMs + TIMER_SLACK_MS);
    expect((await engine.countRequest(key, 1, 300)).isAllowed).toBe(true);
  });

  it('the window slides: places come free one by one, as they were taken', async () => {
    const { engine } = nodes();
    const key = randomUUID();
    await engine.countRequest(key, 2, 400);
    await sleep(200);
    await engine.countRequest(key, 2, 400);
    const first = await engine.countRequest(key, 2, 400);
    expect(first.isAllowed).toBe(false);
    expect(first.waitMs).toBeLessThanOrEqual(203);
    await sleep(first.waitMs + TIMER_SLACK_MS);
    expect((await engine.countRequest(key, 2, 400)).isAllowed).toBe(true);
    expect((await engine.countRequest(key, 2, 400)).isAllowed).toBe(false);
  });

  it('requests at once over all nodes are allowed exactly up to the limit', async () => {
    const { engine, second } = nodes();
    const key = randomUUID();
    const decisions = await Promise.all(
      Array.from({ length: 300 }, (_, index) =>
        (index % 2 === 0 ? engine : second).countRequest(key, 100, 10_000),
      ),
    );
    expect(decisions.filter(({ isAllowed }) => isAllowed)).toHaveLength(100);
  });

  it('a limit that was lowered holds for what was allowed before', async () => {
    const { engine } = nodes();
    const key = randomUUID();
    for (let index = 0; index < 4; index++) await engine.countRequest(key, 4, 600);
    await sleep(300);
    await engine.countRequest(key, 5, 600);
    const { isAllowed, waitMs } = await engine.countRequest(key, 1, 600);
    expect(isAllowed).toBe(false);
    // All five must leave, and the last came 300 ms after the others.
    expect(waitMs).toBeGreaterThan(310);
    await sleep(waitMs + TIMER_SLACK_MS);
    expect((await engine.countRequest(key, 1, 600)).isAllowed).toBe(true);
  });

  it('keys do not touch each other, whatever they are made of', async () => {
    const { engine } = nodes();
    const base = randomUUID();
    for (const key of [base, `${base}}`, `{${base}`, `}${base}`, `${base}:ü 🚀\r\n"`]) {
      expect((await engine.countRequest(key, 1, 10_000)).isAllowed).toBe(true);
      expect((await engine.countRequest(key, 1, 10_000)).isAllowed).toBe(false);
    }
  });
}

function closingRules(make: () => Promise<EnginesUnderTest>): void {
  it('closing ends the waits of those who take check-ins: they are refused as unavailable', async () => {
    const { engine, second, dispose } = await make();
    try {
      const start = performance.now();
      const waits = [engine, second].map((node) => node.takeCheckIns('taker', 1, 20_000, 20_000));
      const ends = Promise.allSettled(waits);
      await sleep(80);
      await engine.close();
      await second.close();
      for (const end of await ends) {
        expect(end).toMatchObject({ status: 'rejected', reason: expect.any(Unavailable) });
      }
      expect(performance.now() - start).toBeLessThan(2000);
    } finally {
      await dispose();
    }
  });

  it('after closing, twice, every call is refused as unavailable and nothing is heard', async () => {
    const { engine, second, dispose } = await make();
    try {
      expect(await engine.isReachable()).toBe(true);
      const app = randomUUID();
      const heard = await listenTo(engine, app);
      await engine.close();
      await engine.close();
      expect(await engine.isReachable()).toBe(false);
      const calls = [
        engine.putSnapshot(snapshotOf(app, 'stable', 1)),
        engine.getSnapshot(app, 'stable'),
        engine.putChannelNames({ tag: 'late', isComplete: true, channels: [] }),
        engine.getChannelNames(undefined),
        engine.announce(announcementOf(app, 1)),
        engine.countRequest(app, 1, 1000),
        engine.appendCheckIns(packCheckIns([checkInOf('device')])),
        engine.takeCheckIns('taker', 1, 1000, 1000),
        engine.acknowledgeCheckIns(['1-1']),
        engine.countCheckIns(),
        engine.getLabels([storedLabelsOf('device', 1)]),
        engine.putLabels([storedLabelsOf('device', 1)]),
      ];
      for (const call of calls) await expect(call).rejects.toBeInstanceOf(Unavailable);
      await second.announce(announcementOf(app, 2)).catch(() => {});
      engine.subscribe(
        () => {},
        () => {},
      );
      await sleep(50);
      expect(heard.revisions).toEqual([]);
    } finally {
      await dispose();
    }
  });
}
