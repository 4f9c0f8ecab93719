// Rules of the announcements of an engine and of its end, run unchanged on every implementation, and samples
// that other suites use too. Every other part of the contract has a file of its own.
//
// Names are random in every test, so that the tests may share a store. The queue of check-ins has no name: no
// other user of the store may be active meanwhile.

import { randomUUID } from 'node:crypto';
import { expect, vi } from 'vitest';
import { Unavailable } from '../../../src/contract/store-fault.ts';
import type {
  ServingSnapshot,
  SnapshotRelease,
} from '../../../src/domain/decision/serving-snapshot.ts';
import type { Announcement, Engine } from '../../../src/store/engine.ts';
import { release, snapshot } from '../../domain/sample.ts';
import { eventually } from '../../support/eventually.ts';
import { packCheckIns } from '../../support/pack-check-ins.ts';
import type { EnginesUnderTest, Rule } from './engines-under-test.ts';
import { checkInOf, storedLabelsOf } from './fleet-sample.ts';

/** Milliseconds that no test lasts: a wait of so long ends for another reason. */
const NEVER_MS = 600_000;

export function snapshotOf(
  appRef: string,
  channel: string,
  revision: number,
  epoch = 0,
): ServingSnapshot {
  const parts = {
    ...{ edition: `edition-${revision}`, rolloutPct: 25, followed: revision % 2 === 1 },
    notes: `Größer, schneller 🚀 "quoted" \\ \u0000 ${revision}`,
    targets: { matchLabels: { ring: ['a', 'b'] }, matchExpressions: [] },
  };
  return snapshot([release(`1.0.${revision}`, parts)], {
    ...{ appId: `app_${appRef}`, appRef, channelId: `chn_${channel}`, channel, epoch, revision },
    updateMode: 'recommended',
    minimumSupportedVersion: revision % 2 === 0 ? '1.0.0' : null,
    requireSignature: revision % 2 === 1,
    follows: revision % 2 === 1 ? 'base' : null,
  });
}

/** A release of this edition, which was not offered. */
export function editionOf(edition: string): SnapshotRelease {
  const parts = { id: `rel_${edition}`, edition, notes: edition, offered: false, artifacts: [] };
  return release('1.0.0', parts);
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

export function announcementRules(nodes: () => EnginesUnderTest, it: Rule): void {
  it("every node hears a channel's announcements, its own too, once each and in order", async () => {
    const { engine, second } = nodes();
    const app = randomUUID();
    // All listeners of a node hear.
    const nodesOf = [engine, engine, second];
    const heard = await Promise.all(nodesOf.map((node) => listenTo(node, app)));
    const revisions = Array.from({ length: 40 }, (_, index) => index + 1);
    for (const revision of revisions) await engine.announce(announcementOf(app, revision));
    // What was heard twice, or out of order, is heard before the last one.
    await eventually('all are heard', () => heard.every((one) => one.revisions.includes(40)));
    for (const one of heard) expect(one.revisions).toEqual(revisions);
    // The first start of hearing is no resumption.
    for (const one of heard) expect(one.resumedCount).toBe(0);
  });

  it('an announcement arrives as it was made', async () => {
    const { engine, second } = nodes();
    const names = { appRef: randomUUID(), channel: 'beta', channelId: 'chn_ü' };
    const sent = { ...names, epoch: 3, revision: 2 ** 40, offeredReleaseId: 'rel_ü' };
    const heard: Announcement[] = [];
    await listenTo(second, sent.appRef);
    second.subscribe((announcement) => {
      if (announcement.appRef === sent.appRef) heard.push(announcement);
    }, vi.fn());
    await engine.announce(sent);
    await eventually('it is heard', () => heard.length > 0);
    expect(heard).toEqual([sent]);
  });
}

export function closingRules(nodes: () => EnginesUnderTest, it: Rule): void {
  it('closing ends the waits of those who take check-ins: they are refused as unavailable', async () => {
    const { engine, second, dispose } = await nodes().more();
    try {
      const waits = [engine, second].map((node) => node.takeCheckIns('t', 1, NEVER_MS, NEVER_MS));
      const ends = Promise.allSettled(waits);
      for (const node of [engine, second]) expect(await node.isReachable()).toBe(true);
      await engine.close();
      await second.close();
      for (const end of await ends) {
        expect(end).toMatchObject({ status: 'rejected', reason: expect.any(Unavailable) });
      }
    } finally {
      await dispose();
    }
  });

  it('after closing, twice, every call is refused as unavailable and nothing is heard', async () => {
    const { engine, second, dispose } = await nodes().more();
    try {
      expect(await engine.isReachable()).toBe(true);
      const app = randomUUID();
      const heard = await listenTo(engine, app);
      const other = engine === second ? heard : await listenTo(second, app);
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
        ...[engine.countCheckIns(), engine.ageOfCheckIns(), engine.weighCheckIns()],
        ...[engine.shareCheckIns('taker'), engine.leaveCheckIns('taker')],
        engine.getLabels([storedLabelsOf('device', 1)]),
        engine.putLabels([storedLabelsOf('device', 1)]),
      ];
      for (const call of calls) await expect(call).rejects.toBeInstanceOf(Unavailable);
      engine.subscribe(() => heard.revisions.push(-1), vi.fn());
      await second.announce(announcementOf(app, 2)).catch(() => {});
      const isSole = engine === second;
      await eventually('the other node heard it', () => isSole || other.revisions.length > 0);
      await new Promise((resolve) => setImmediate(resolve));
      expect(heard.revisions).toEqual([]);
    } finally {
      await dispose();
    }
  });
}
