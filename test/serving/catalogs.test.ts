// Tests the catalogs of a node: when, from where and how often they are loaded, and that no older catalog
// ever replaces a newer one.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type FailureKind, isFailure } from '../../src/contract/failure.ts';
import { Unavailable } from '../../src/contract/store-fault.ts';
import type { ServingSnapshot } from '../../src/domain/decision/serving-snapshot.ts';
import type { CatalogSlot } from '../../src/serving/catalog-slot.ts';
import type { Catalogs } from '../../src/serving/catalogs.ts';
import { ledgerAway } from '../support/fake-ledger.ts';
import { gate } from '../support/gate.ts';
import {
  channelAt,
  engineAway,
  loadedNode,
  queryOf,
  servedRevision,
  servingNode,
  settle,
} from './serving-node.ts';

/** Bounds of `Catalogs` and `ChannelDirectory`, written down again so that a changed bound fails a test. */
const UNLISTED_RUNNING = 2;
const CHANNELS = 10_000;
const NAMES = 100_000;

/** Snapshot of the channel `stable` of one of many apps. */
function appAt(index: number): ServingSnapshot {
  const name = `app${index}`;
  return channelAt(1, 'stable', { appId: name, appRef: name, channelId: `chn_${name}` });
}

// What waits for its turn does not wait too long on a busy machine.
beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

type Found = Awaited<ReturnType<Catalogs['find']>>;

function slotOf(outcome: Found): CatalogSlot {
  if (isFailure(outcome)) throw new Error(`refused: ${outcome.message}`);
  return outcome;
}

/** Returns `found`, or the kind of the failure. */
function answerOf(outcome: Found): FailureKind | 'found' {
  return isFailure(outcome) ? outcome.failure : 'found';
}

/** Snapshot that a node of another version might share: well-formed, but this node cannot compile it. */
function uncompilable(snapshot: ServingSnapshot): ServingSnapshot {
  const releases = snapshot.releases.map(({ artifacts: _left, ...rest }) => rest);
  return { ...snapshot, releases } as unknown as ServingSnapshot;
}

describe('a cold load', () => {
  it('is shared by all who ask meanwhile, and by those after it', async () => {
    const { catalogs, ledger } = servingNode();
    ledger.commit(channelAt(1));
    ledger.hold();
    const asked = Array.from({ length: 50 }, () => catalogs.find('acme', 'stable'));
    await settle();
    ledger.release();
    const slots = new Set((await Promise.all(asked)).map(slotOf));
    expect(slots.size).toBe(1);
    expect(slots).toContain(await catalogs.find('acme', 'stable'));
    expect(ledger.reads).toEqual(['acme/stable']);
  });

  it.each<[string, shared: ServingSnapshot | undefined, kept: number, served: number]>([
    ['the engine, when that is newer', channelAt(3), 2, 3],
    ['the disk, when that is newer', channelAt(2), 3, 3],
    ['the disk, when the engine is away', undefined, 4, 4],
    ['the disk, when what is shared does not compile', uncompilable(channelAt(5)), 4, 4],
  ])('without a ledger takes the state of %s', async (_where, shared, kept, served) => {
    const node = servingNode();
    node.ledger.fault = ledgerAway();
    if (shared === undefined) node.engine.fault = engineAway();
    else await node.engine.putSnapshot(shared);
    node.diskSnapshots.keep(channelAt(kept));
    slotOf(await node.catalogs.find('acme', 'stable'));
    expect(servedRevision(node)).toBe(served);
  });
});

describe('never an older state', () => {
  it('what is shared in any order only moves it forward, here and on disk', async () => {
    const node = await loadedNode(channelAt(0));
    let highest = 0;
    for (const revision of [3, 1, 5, 5, 2, 4, 6]) {
      await node.catalogs.adoptShared(channelAt(revision));
      highest = Math.max(highest, revision);
      expect(servedRevision(node)).toBe(highest);
      expect((await node.diskSnapshots.find('acme', 'stable'))?.revision).toBe(highest);
    }
  });

  it.each([0, 1])(
    'of a cold load and a read after a change the newer stays: %i ends first',
    async (first) => {
      const node = servingNode();
      node.ledger.hold();
      node.ledger.commit(channelAt(1));
      const cold = node.catalogs.find('app_1', 'stable');
      await settle();
      node.ledger.commit(channelAt(2));
      const reload = node.catalogs.reload('acme', 'stable');
      await settle();
      node.ledger.releaseOne(first);
      await settle();
      node.ledger.release();
      await reload;
      expect(slotOf(await cold)).toBe(node.catalogs.peek('acme', 'stable'));
      expect(servedRevision(node)).toBe(2);
    },
  );
});

describe('an announcement', () => {
  it('of a loaded channel is followed from the engine, without asking the ledger', async () => {
    const node = await loadedNode();
    await node.engine.putSnapshot(channelAt(2));
    void node.catalogs.hear({ ...channelAt(2) });
    await settle();
    expect(servedRevision(node)).toBe(2);
    expect(node.ledger.reads).toHaveLength(1);
  });

  it.each<[string, shared: ServingSnapshot | undefined, warnings: readonly string[]]>([
    ['is behind it', channelAt(2), []],
    ['does not compile', uncompilable(channelAt(3)), ['a snapshot could not be used']],
    ['is of a channel with another id', channelAt(90, 'stable', { channelId: 'chn_other' }), []],
    ['cannot be read', undefined, []],
  ])('is followed from the ledger when what is shared %s', async (_what, shared, warnings) => {
    const node = await loadedNode();
    if (shared === undefined) node.engine.fault = engineAway();
    else await node.engine.putSnapshot(shared);
    node.ledger.commit(channelAt(3));
    await node.catalogs.catchUp('chn_stable', { epoch: 0, revision: 3 });
    expect([servedRevision(node), node.catalogs.size]).toEqual([3, 1]);
    expect(node.warnings).toEqual(warnings);
    if (shared?.channelId !== 'chn_stable') return;
    expect((await node.engine.getSnapshot('acme', 'stable'))?.revision).toBe(3);
  });

  it('that cannot be followed leaves what is served, and is logged', async () => {
    const node = await loadedNode();
    await node.engine.putSnapshot(uncompilable(channelAt(2)));
    node.ledger.fault = ledgerAway();
    const state = { epoch: 0, revision: 2 };
    await expect(node.catalogs.catchUp('chn_stable', state)).rejects.toBeInstanceOf(Unavailable);
    void node.catalogs.hear(channelAt(2));
    await settle();
    expect(servedRevision(node)).toBe(1);
    expect(node.warnings).toContain('refresh failed');
  });

  it('heard while a cold load is in flight counts by its revision, not by its order', async () => {
    const node = servingNode();
    node.ledger.commit(channelAt(1));
    node.ledger.hold();
    const cold = node.catalogs.find('acme', 'stable');
    await settle();
    await node.engine.putSnapshot(channelAt(2));
    const change = node.ledger.commit(channelAt(3));
    void node.catalogs.hear(change);
    void node.catalogs.hear({ ...change, revision: 2 });
    node.ledger.release();
    slotOf(await cold);
    await settle();
    expect(servedRevision(node)).toBe(3);
  });

  it('of a higher revision, heard while a lower one is being followed, is followed as well', async () => {
    const node = await loadedNode();
    node.ledger.hold();
    const lower = node.ledger.commit(channelAt(2));
    // Repeated for one revision it is one read.
    for (let time = 0; time < 20; time++) void node.catalogs.hear(lower);
    await settle();
    expect(node.ledger.reads).toHaveLength(2);
    void node.catalogs.hear(node.ledger.commit(channelAt(3)));
    node.ledger.release();
    await settle();
    expect(servedRevision(node)).toBe(3);
    expect(node.ledger.reads).toHaveLength(3);
  });
});

describe('an unknown channel', () => {
  it('is refused without a read, and found by ref and id once its creation was announced', async () => {
    const { catalogs, ledger } = servingNode();
    const apps = ['app_1', 'acme', ...Array.from({ length: 50 }, (_, index) => `app${index}`)];
    const asked = apps.map((app) => catalogs.find(app, 'stable'));
    expect(new Set((await Promise.all(asked)).map(answerOf))).toEqual(new Set(['unknownApp']));
    expect(await catalogs.reload('acme', 'stable')).toBeUndefined();
    expect([ledger.reads.splice(0).length, ledger.listings, catalogs.size]).toEqual([1, 1, 0]);
    void catalogs.hear(ledger.commit(channelAt(1)));
    await settle();
    // A channel that nobody asks for costs no read.
    expect([ledger.reads.length, catalogs.size]).toEqual([0, 0]);
    expect(answerOf(await catalogs.find('acme', 'beta'))).toBe('unknownChannel');
    expect(catalogs.refused('other', 'stable')).toMatchObject({ failure: 'unknownApp' });
    expect(catalogs.refused('acme', 'beta')).toMatchObject({ failure: 'unknownChannel' });
    expect(catalogs.refused('acme', 'stable')).toBeUndefined();
    const found = await Promise.all(['acme', 'app_1'].map((app) => catalogs.find(app, 'stable')));
    expect([found[0], catalogs.size]).toEqual([slotOf(found[1] as Found), 1]);
    expect(catalogs.peek('app_1', 'stable')).toBe(catalogs.peek('acme', 'stable'));
  });

  it('is asked of the ledger for a caller with rights, who may have heard of it earlier', async () => {
    const { catalogs, known, ledger } = servingNode();
    await known.refresh();
    expect(answerOf(await catalogs.findForCaller('acme', 'stable'))).toBe('unknownApp');
    ledger.commit(channelAt(1));
    expect(answerOf(await catalogs.findForCaller('acme', 'beta'))).toBe('unknownChannel');
    expect(answerOf(await catalogs.findForCaller('acme', 'stable'))).toBe('found');
    expect(ledger.reads).toHaveLength(3);
  });

  it('is found when its creation is announced while the list is read', async () => {
    const { catalogs, known, ledger } = servingNode();
    const { opened, open } = gate();
    ledger.listGate = opened;
    const early = ['acme', 'app_1'].map((app) => catalogs.find(app, 'stable'));
    await settle();
    // The list that is being read is from before the creation.
    void catalogs.hear(ledger.commit(channelAt(1)));
    open();
    expect((await Promise.all(early)).map(answerOf)).toEqual(['found', 'found']);
    expect(known.size).toBe(1);
  });

  it('is asked of the ledger where not all names can be held: two at a time, a second at most', async () => {
    const { catalogs, known, ledger } = servingNode();
    for (const index of [0, 1]) ledger.commit(appAt(index));
    ledger.unlisted = 1;
    await known.refresh();
    expect([ledger.listedMax, known.size, known.mayBeUnlisted]).toEqual([NAMES, 1, true]);
    expect(answerOf(await catalogs.find('app1', 'stable'))).toBe('found');
    ledger.hold();
    const asked = Array.from({ length: 10 }, (_, index) => catalogs.find(`no${index}`, 'stable'));
    await settle();
    expect(ledger.reads).toHaveLength(1 + UNLISTED_RUNNING);
    // A channel that is listed does not wait for them.
    const listed = catalogs.find('app0', 'stable');
    await settle();
    ledger.releaseOne(UNLISTED_RUNNING);
    expect(answerOf(await listed)).toBe('found');
    ledger.release();
    expect(new Set((await Promise.all(asked)).map(answerOf))).toEqual(new Set(['unknownApp']));
  });
});

describe('reload', () => {
  it('called while one read runs shares one further read; called while that runs is a third', async () => {
    const { catalogs, ledger } = servingNode();
    ledger.commit(channelAt(1));
    ledger.hold();
    const first = catalogs.reload('acme', 'stable');
    await settle();
    const later: Promise<ServingSnapshot | undefined>[] = [];
    for (const revision of [2, 3, 4]) {
      ledger.commit(channelAt(revision));
      later.push(catalogs.reload('acme', 'stable'));
      await settle();
    }
    expect(ledger.reads).toHaveLength(1);
    ledger.releaseOne();
    expect((await first)?.revision).toBe(1);
    await settle();
    ledger.commit(channelAt(5));
    const third = catalogs.reload('acme', 'stable');
    await settle();
    expect(ledger.reads).toHaveLength(2);
    ledger.release();
    for (const read of await Promise.all(later)) expect(read?.revision).toBe(4);
    expect((await third)?.revision).toBe(5);
    expect(ledger.reads).toHaveLength(3);
  });
});

it('an evicted channel leaves an empty slot to those who hold it, and is loaded again when asked for', async () => {
  const node = servingNode();
  const { catalogs, ledger } = node;
  ledger.commit(channelAt(1));
  const held = slotOf(await catalogs.find('acme', 'stable'));
  const query = queryOf('0.9.0');
  expect(held.planFor(query)).toBeDefined();
  for (let index = 0; index < CHANNELS; index++) ledger.commit(appAt(index));
  await node.known.refresh();
  for (let index = 0; index < CHANNELS; index++) await catalogs.find(`app${index}`, 'stable');
  expect(catalogs.size).toBe(CHANNELS);
  const left = [held.catalog, held.planFor(query), catalogs.peek('acme', 'stable')];
  expect(left).toEqual([undefined, undefined, undefined]);
  expect(catalogs.held().has('chn_stable')).toBe(false);

  ledger.commit(channelAt(2));
  expect(slotOf(await catalogs.find('acme', 'stable'))).not.toBe(held);
  expect(servedRevision(node)).toBe(2);
  expect(held.catalog).toBeUndefined();
});
