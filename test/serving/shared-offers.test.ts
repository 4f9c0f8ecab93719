// Tests how nodes tell each other of first offers: a node that the ledger does not answer offers what another
// node has offered, and asks the engine seldom.

import { expect, it, vi } from 'vitest';
import type { ServingSnapshot } from '../../src/domain/decision/serving-snapshot.ts';
import { release } from '../domain/sample.ts';
import { ledgerAway } from '../support/fake-ledger.ts';
import {
  channelAt,
  checkOf,
  engineAway,
  loadedNode,
  servedRevision,
  servingNode,
  settle,
} from './serving-node.ts';

const REREAD_AFTER_MS = 5000;
const RETRY_AFTER_FAULT_MS = 1000;

/** Announcement of the first offer of 1.1.0. */
const OFFER = {
  ...{ appRef: 'acme', channel: 'stable', channelId: 'chn_stable' },
  ...{ epoch: 0, revision: 1, offeredReleaseId: 'rel-1.1.0' },
};

/** State of the channel in which 1.1.0 was offered or not, and 1.0.0 was. */
function state(isOffered: boolean, revision = 1): ServingSnapshot {
  const releases = [release('1.1.0', { offered: isOffered }), release('1.0.0')];
  return channelAt(revision, 'stable', { releases });
}

/** A node that has loaded the channel before 1.1.0 was offered; its ledger is away since. */
async function cutOff() {
  const clock = { now: 0 };
  const node = await loadedNode(state(false), () => clock.now);
  node.ledger.fault = ledgerAway();
  return { node, clock, reads: vi.spyOn(node.engine, 'getSnapshot') };
}

it("without the ledger, the mark in the engine's copy counts, and is kept", async () => {
  const { node, reads } = await cutOff();
  await node.engine.putSnapshot(state(true));
  const answers = await Promise.all(Array.from({ length: 50 }, () => checkOf(node)));
  expect(new Set(answers)).toEqual(new Set(['1.1.0']));
  expect(await checkOf(node)).toBe('1.1.0');
  expect(reads).toHaveBeenCalledTimes(1);
  expect(node.ledger.offers).toHaveLength(1);
  expect(node.metrics.firstOffers.counts.get('shared')).toBe(50);
  const kept = await node.diskSnapshots.find('acme', 'stable');
  expect(kept?.releases.every(({ offered }) => offered)).toBe(true);
});

it("the copy's mark counts whether the copy is older or newer than what is served", async () => {
  for (const revision of [1, 3]) {
    const node = await loadedNode(state(false, 2));
    node.ledger.fault = ledgerAway();
    await node.engine.putSnapshot(state(true, revision));
    expect(await checkOf(node)).toBe('1.1.0');
    expect(servedRevision(node)).toBe(Math.max(revision, 2));
  }
});

it('a newer copy is decided by, though it has no mark', async () => {
  const { node } = await cutOff();
  const releases = [release('1.1.0', { offered: false, status: 'paused' }), release('1.0.1')];
  await node.engine.putSnapshot(channelAt(2, 'stable', { releases }));
  expect(await checkOf(node)).toBe('1.0.1');
});

it('a copy without the mark is read again after 5 seconds, not with every check', async () => {
  const { node, clock, reads } = await cutOff();
  await node.engine.putSnapshot(state(false));
  for (clock.now = 0; clock.now < REREAD_AFTER_MS; clock.now += 100) {
    expect(await checkOf(node)).toBe('1.0.0');
  }
  expect(reads).toHaveBeenCalledTimes(1);
  await node.engine.putSnapshot(state(true));
  expect(await checkOf(node)).toBe('1.1.0');
});

it('an engine that is away as well is asked once a second', async () => {
  const { node, clock, reads } = await cutOff();
  node.engine.fault = engineAway();
  for (clock.now = 0; clock.now < RETRY_AFTER_FAULT_MS; clock.now += 100) {
    expect(await checkOf(node)).toBe('1.0.0');
  }
  expect(reads).toHaveBeenCalledTimes(1);
  expect(node.metrics.faults.counts.get('engine-read')).toBe(1);
  node.engine.fault = undefined;
  await node.engine.putSnapshot(state(true));
  expect(await checkOf(node)).toBe('1.1.0');
});

it('a bug of the engine fails the check', async () => {
  const { node } = await cutOff();
  node.engine.fault = new TypeError('bug');
  await expect(checkOf(node)).rejects.toThrow(TypeError);
});

it('a copy that another database left under the same name does not count', async () => {
  const { node } = await cutOff();
  await node.engine.putSnapshot({ ...state(true), channelId: 'chn_other' });
  expect(await checkOf(node)).toBe('1.0.0');
});

it('a node that records a first offer shares the mark, then announces it, once', async () => {
  const node = servingNode();
  node.ledger.commit(state(false));
  const found: unknown[] = [];
  node.engine.subscribe(
    ({ appRef, channel }) => {
      const shared = node.engine.getSnapshot(appRef, channel);
      void shared.then((copy) => found.push(copy?.releases.map(({ offered }) => offered)));
    },
    () => {},
  );
  for (let time = 0; time < 3; time++) expect(await checkOf(node)).toBe('1.1.0');
  await settle();
  expect(node.engine.announced).toEqual([OFFER]);
  expect(found).toEqual([[true, true]]);
});

it('a node that hears of it offers the release without asking anybody, and tells nobody', async () => {
  const { node, reads } = await cutOff();
  node.catalogs.hear(OFFER);
  expect(await checkOf(node)).toBe('1.1.0');
  await settle();
  expect(node.ledger.offers).toEqual([]);
  expect(reads).not.toHaveBeenCalled();
  expect(node.engine.announced).toEqual([]);
  const kept = await node.diskSnapshots.find('acme', 'stable');
  expect(kept?.releases.every(({ offered }) => offered)).toBe(true);
});

it('a copy that cannot be stored is announced all the same', async () => {
  const node = await loadedNode(state(false));
  vi.spyOn(node.engine, 'putSnapshot').mockRejectedValue(engineAway());
  expect(await checkOf(node)).toBe('1.1.0');
  await settle();
  expect(node.engine.announced).toHaveLength(1);
  expect(node.metrics.faults.counts.get('engine-write')).toBe(1);
});

it('an offer of a newer state marks no older one, in which the release may be for more devices', async () => {
  const { node } = await cutOff();
  // The announced state cannot be read: the node still serves revision 1, in which 1.1.0 was not offered.
  node.engine.fault = engineAway();
  node.catalogs.hear({ ...OFFER, revision: 2 });
  await settle();
  expect(servedRevision(node)).toBe(1);
  expect(await checkOf(node)).not.toBe('1.1.0');
  // An offer of this state, or of an older one, was recorded in the ledger and stays.
  node.catalogs.hear(OFFER);
  expect(await checkOf(node)).toBe('1.1.0');
});
