// Tests how nodes tell each other of first offers: where the mark of one is noted, whatever is newer or away;
// a node that the ledger does not answer offers what another node has offered, and asks the engine seldom.

import { expect, it, vi } from 'vitest';
import type { ServingSnapshot } from '../../src/domain/decision/serving-snapshot.ts';
import { release } from '../domain/sample.ts';
import { ledgerAway } from '../support/fake-ledger.ts';
import {
  channelAt,
  checkOf,
  engineAway,
  loadedNode,
  type ServingNode,
  servedRevision,
  servingNode,
  settle,
} from './serving-node.ts';

const REREAD_AFTER_MS = 5000;

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
  const answers = await Promise.all(Array.from({ length: 9 }, () => checkOf(node)));
  expect(new Set([...answers, await checkOf(node)])).toEqual(new Set(['1.1.0']));
  expect(reads).toHaveBeenCalledTimes(1);
  expect(node.ledger.offers).toHaveLength(1);
  expect(node.metrics.firstOffers.counts.get('shared')).toBe(9);
  const kept = await node.diskSnapshots.find('acme', 'stable');
  expect(kept?.releases.every(({ offered }) => offered)).toBe(true);
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
  for (clock.now = 0; clock.now < REREAD_AFTER_MS; clock.now += 500) {
    expect(await checkOf(node)).toBe('1.0.0');
  }
  expect(reads).toHaveBeenCalledTimes(1);
  await node.engine.putSnapshot(state(true));
  expect(await checkOf(node)).toBe('1.1.0');
});

it('an engine that is away as well is asked once a second; a bug of it fails the check', async () => {
  const { node, clock, reads } = await cutOff();
  node.engine.fault = engineAway();
  for (clock.now = 0; clock.now < 1000; clock.now += 500) expect(await checkOf(node)).toBe('1.0.0');
  expect(reads).toHaveBeenCalledTimes(1);
  node.engine.fault = undefined;
  await node.engine.putSnapshot(state(true));
  expect(await checkOf(node)).toBe('1.1.0');
  const other = (await cutOff()).node;
  other.engine.fault = new TypeError('bug');
  await expect(checkOf(other)).rejects.toThrow(TypeError);
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

function unoffered(revision: number, ...versions: readonly string[]): ServingSnapshot {
  const releases = versions.map((version) => release(version, { offered: false }));
  return channelAt(revision, 'stable', { releases });
}

function catalogOf({ catalogs }: ServingNode) {
  const catalog = catalogs.peek('acme', 'stable')?.catalog;
  if (catalog === undefined) throw new Error('not loaded');
  return catalog;
}

/** Tells of first offers that were decided by this catalog, the present one if none is given. */
async function tell(node: ServingNode, versions: readonly string[], by = catalogOf(node)) {
  for (const version of versions) {
    const found = by.byCanonical.get(version);
    if (found === undefined) throw new Error(`${version} is not served`);
    node.sharedOffers.tell(by, found);
  }
  await settle();
}

/** Returns the versions that are marked as offered here, in the engine's copy and on disk. */
async function marks(node: ServingNode) {
  const { fault } = node.engine;
  node.engine.fault = undefined;
  const shared = await node.engine.getSnapshot('acme', 'stable');
  node.engine.fault = fault;
  const kept = await node.diskSnapshots.find('acme', 'stable');
  const here = { releases: catalogOf(node).marked.releases };
  return [here, shared, kept].map((state) =>
    state?.releases.flatMap(({ version, offered }) => (offered ? [version] : [])).sort(),
  );
}

it('a mark stands in the catalog, in the engine and on disk, and does not undo one noted before', async () => {
  const node = await loadedNode(unoffered(1, '1.0.0', '1.1.0'));
  await tell(node, ['1.1.0']);
  expect(await marks(node)).toEqual([['1.1.0'], ['1.1.0'], ['1.1.0']]);
  await tell(node, ['1.0.0']);
  const both = ['1.0.0', '1.1.0'];
  expect(await marks(node)).toEqual([both, both, both]);
});

it('a mark of a catalog that was replaced meanwhile stands in the present one', async () => {
  const node = await loadedNode(unoffered(1, '1.0.0'));
  const before = catalogOf(node);
  // This revision was read before the offer was recorded, and is installed before the offer is noted.
  node.ledger.commit(unoffered(2, '1.0.0', '1.1.0'));
  await node.catalogs.reload('acme', 'stable');
  await tell(node, ['1.0.0'], before);
  expect(before.byCanonical.get('1.0.0')?.offered).toBe(true);
  expect(await marks(node)).toEqual([['1.0.0'], ['1.0.0'], ['1.0.0']]);
  expect((await node.engine.getSnapshot('acme', 'stable'))?.revision).toBe(2);
  expect((await node.diskSnapshots.find('acme', 'stable'))?.revision).toBe(2);
});

it('a mark is kept on disk with the engine away, and a node that starts without the ledger serves by it', async () => {
  const node = await loadedNode(unoffered(1, '1.0.0'));
  node.engine.fault = engineAway();
  await tell(node, ['1.0.0']);
  expect((await marks(node))[2]).toEqual(['1.0.0']);
  const kept = await node.diskSnapshots.find('acme', 'stable');
  if (kept === undefined) throw new Error('not kept');
  const started = servingNode();
  started.ledger.fault = ledgerAway();
  started.diskSnapshots.keep(kept);
  await started.catalogs.find('acme', 'stable');
  expect(catalogOf(started).byCanonical.get('1.0.0')?.offered).toBe(true);
});
