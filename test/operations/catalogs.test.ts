// Tests the catalogs of a node: when, from where and how often they are loaded, and that no older catalog
// ever replaces a newer one.

import { describe, expect, it } from 'vitest';
import { type FailureKind, isFailure } from '../../src/contract/failure.ts';
import type { CompiledRelease } from '../../src/domain/decision/catalog.ts';
import type { ServingSnapshot } from '../../src/domain/decision/serving-snapshot.ts';
import type { CatalogSlot } from '../../src/operations/serving/catalog-slot.ts';
import type { Catalogs } from '../../src/operations/serving/catalogs.ts';
import { Unavailable } from '../../src/ports/unavailable.ts';
import { release } from '../domain/sample.ts';
import { eventually } from '../support/eventually.ts';
import { ledgerAway } from '../support/fake-ledger.ts';
import {
  channelAt,
  engineAway,
  queryOf,
  servedRevision,
  servingNode,
  settle,
} from './serving-node.ts';

/** Bounds of `Catalogs` and `KnownChannels`, written down again so that a changed bound fails a test. */
const UNLISTED_RUNNING = 2;
const CHANNELS = 10_000;
const NAMES = 100_000;

/** Snapshot of the channel `stable` of one of many apps. */
function appAt(index: number): ServingSnapshot {
  const name = `app${index}`;
  return channelAt(1, 'stable', { appId: name, appRef: name, channelId: `chn_${name}` });
}

type Found = Awaited<ReturnType<Catalogs['find']>>;

function slotOf(outcome: Found): CatalogSlot {
  if (isFailure(outcome)) throw new Error(`refused: ${outcome.message}`);
  return outcome;
}

/** Returns `found`, or the kind of the failure. */
function answerOf(outcome: Found): FailureKind | 'found' {
  return isFailure(outcome) ? outcome.failure : 'found';
}

function releaseOf(slot: CatalogSlot | undefined, version: string): CompiledRelease {
  const found = slot?.catalog?.byCanonical.get(version);
  if (found === undefined) throw new Error(`${version} is not served`);
  return found;
}

function offeredIn(snapshot: ServingSnapshot | undefined): string[] {
  const releases = snapshot?.releases ?? [];
  return releases.filter(({ offered }) => offered).map(({ version }) => version);
}

describe('a cold load', () => {
  it('is shared by all who ask meanwhile, and by those after it', async () => {
    const { catalogs, ledger } = servingNode();
    ledger.commit(channelAt(1));
    ledger.hold();
    const asked = Array.from({ length: 50 }, () => catalogs.find('acme', 'stable'));
    await settle();
    expect(ledger.reads).toEqual(['acme/stable']);
    ledger.release();
    const slots = new Set((await Promise.all(asked)).map(slotOf));
    expect(slots.size).toBe(1);
    expect(slots).toContain(await catalogs.find('acme', 'stable'));
    expect(ledger.reads).toEqual(['acme/stable']);
  });

  it('by the ref and by the id of an app ends in one slot', async () => {
    const { catalogs, ledger } = servingNode();
    ledger.commit(channelAt(1));
    const found = await Promise.all(['acme', 'app_1'].map((app) => catalogs.find(app, 'stable')));
    expect(found[0]).toBe(found[1]);
    expect(catalogs.size).toBe(1);
    expect(catalogs.peek('app_1', 'stable')).toBe(catalogs.peek('acme', 'stable'));
  });

  it.each([
    ['app', 'a b', 'stable', 'unknownApp'],
    ['app', '', 'stable', 'unknownApp'],
    ['app', 'a'.repeat(65), 'stable', 'unknownApp'],
    ['channel', 'acme', '-stable', 'unknownChannel'],
  ])(
    'of what cannot be the name of an %s asks nobody: "%s", "%s"',
    async (_what, app, channel, answer) => {
      const { catalogs, ledger } = servingNode();
      expect(answerOf(await catalogs.find(app, channel))).toBe(answer);
      expect(ledger.reads).toEqual([]);
    },
  );

  it('without a ledger takes the newer of engine and disk', async () => {
    for (const [shared, kept] of [
      [3, 2],
      [2, 3],
    ] as const) {
      const node = servingNode();
      node.ledger.fault = ledgerAway();
      await node.engine.putSnapshot(channelAt(shared));
      node.lastGood.keep(channelAt(kept));
      slotOf(await node.catalogs.find('acme', 'stable'));
      expect(servedRevision(node)).toBe(3);
    }
  });

  it('without a ledger and without engine takes what is on disk', async () => {
    const node = servingNode();
    node.ledger.fault = ledgerAway();
    node.engine.fault = engineAway();
    node.lastGood.keep(channelAt(4));
    slotOf(await node.catalogs.find('acme', 'stable'));
    expect(servedRevision(node)).toBe(4);
  });

  it('without a ledger and with a shared snapshot that does not compile takes what is on disk', async () => {
    const node = servingNode();
    node.ledger.fault = ledgerAway();
    await node.engine.putSnapshot(uncompilable(channelAt(5)));
    node.lastGood.keep(channelAt(4));
    slotOf(await node.catalogs.find('acme', 'stable'));
    expect(servedRevision(node)).toBe(4);
  });

  it('that no store can give is unavailable for a second, and is not asked for again at once', async () => {
    const { catalogs, known, ledger } = servingNode();
    ledger.commit(channelAt(1));
    await known.refresh();
    ledger.fault = ledgerAway();
    const refusal = { failure: 'unavailable', retryAfterSeconds: 1 };
    expect(await catalogs.find('acme', 'stable')).toMatchObject(refusal);
    expect(await catalogs.find('acme', 'stable')).toMatchObject(refusal);
    expect(ledger.reads).toHaveLength(1);
  });

  it('that fails for a bug is not taken for an outage, and is tried again', async () => {
    const { catalogs, known, ledger } = servingNode();
    ledger.commit(channelAt(1));
    await known.refresh();
    ledger.fault = new TypeError('bug');
    await expect(catalogs.find('acme', 'stable')).rejects.toThrow(TypeError);
    ledger.fault = undefined;
    expect(answerOf(await catalogs.find('acme', 'stable'))).toBe('found');
  });
});

describe('never an older state', () => {
  it.each([[[1, 2, 3, 4, 5]], [[5, 4, 3, 2, 1]], [[3, 1, 5, 2, 4]], [[2, 5, 5, 1, 3]]])(
    'shared in the order %j, what is served only moves forward',
    async (order) => {
      const node = servingNode();
      node.ledger.commit(channelAt(0));
      await node.catalogs.find('acme', 'stable');
      let highest = 0;
      for (const revision of order) {
        await node.catalogs.adoptShared(channelAt(revision));
        highest = Math.max(highest, revision);
        expect(servedRevision(node)).toBe(highest);
        expect((await node.lastGood.find('acme', 'stable'))?.revision).toBe(highest);
      }
    },
  );

  it('of a cold load and a read after a change, the newer one stays, whichever ends last', async () => {
    for (const endsFirst of [0, 1]) {
      const node = servingNode();
      node.ledger.hold();
      node.ledger.commit(channelAt(1));
      const cold = node.catalogs.find('app_1', 'stable');
      await settle();
      node.ledger.commit(channelAt(2));
      const reload = node.catalogs.reload('acme', 'stable');
      await settle();
      node.ledger.releaseOne(endsFirst);
      await settle();
      node.ledger.release();
      await reload;
      expect(slotOf(await cold)).toBe(node.catalogs.peek('acme', 'stable'));
      expect(servedRevision(node)).toBe(2);
    }
  });

  it('a read that began before a change does not undo what another node shared of it', async () => {
    const node = servingNode();
    node.ledger.commit(channelAt(1));
    await node.catalogs.find('acme', 'stable');
    node.ledger.hold();
    const reload = node.catalogs.reload('acme', 'stable');
    await settle();
    await node.engine.putSnapshot(channelAt(2));
    await node.catalogs.chase('chn_stable', { epoch: 0, revision: 2 });
    expect(servedRevision(node)).toBe(2);
    node.ledger.release();
    expect((await reload)?.revision).toBe(1);
    expect(servedRevision(node)).toBe(2);
  });

  it('a shared snapshot that is behind the announced revision is passed over for the ledger', async () => {
    const node = servingNode();
    node.ledger.commit(channelAt(1));
    await node.catalogs.find('acme', 'stable');
    await node.engine.putSnapshot(channelAt(2));
    node.ledger.commit(channelAt(3));
    await node.catalogs.chase('chn_stable', { epoch: 0, revision: 3 });
    expect(servedRevision(node)).toBe(3);
    expect((await node.engine.getSnapshot('acme', 'stable'))?.revision).toBe(3);
  });
});

describe('an announcement', () => {
  it('of a loaded channel is followed from the engine, without asking the ledger', async () => {
    const node = servingNode();
    const change = node.ledger.commit(channelAt(1));
    await node.catalogs.find('acme', 'stable');
    await node.engine.putSnapshot(channelAt(2));
    void node.catalogs.hear({ ...change, revision: 2 });
    await settle();
    expect(servedRevision(node)).toBe(2);
    expect(node.ledger.reads).toHaveLength(1);
  });

  it('of a channel that nobody asked for costs no read', async () => {
    const { catalogs, ledger } = servingNode();
    void catalogs.hear(ledger.commit(channelAt(1)));
    await settle();
    expect(ledger.reads).toEqual([]);
    expect(catalogs.size).toBe(0);
  });

  it('heard while a cold load of the old revision is in flight is followed at once', async () => {
    const node = servingNode();
    node.ledger.commit(channelAt(1));
    node.ledger.hold();
    const cold = node.catalogs.find('acme', 'stable');
    await settle();
    void node.catalogs.hear(node.ledger.commit(channelAt(2)));
    node.ledger.release();
    slotOf(await cold);
    await settle();
    expect(servedRevision(node)).toBe(2);
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
    const node = servingNode();
    node.ledger.commit(channelAt(1));
    await node.catalogs.find('acme', 'stable');
    node.ledger.hold();
    void node.catalogs.hear(node.ledger.commit(channelAt(2)));
    await settle();
    void node.catalogs.hear(node.ledger.commit(channelAt(3)));
    node.ledger.release();
    await settle();
    expect(servedRevision(node)).toBe(3);
  });

  it('repeated for one revision is one read', async () => {
    const node = servingNode();
    node.ledger.commit(channelAt(1));
    await node.catalogs.find('acme', 'stable');
    node.ledger.hold();
    const change = node.ledger.commit(channelAt(2));
    for (let time = 0; time < 20; time++) void node.catalogs.hear(change);
    await settle();
    node.ledger.release();
    await settle();
    expect(servedRevision(node)).toBe(2);
    expect(node.ledger.reads).toHaveLength(2);
  });

  it('whose snapshot does not compile is followed from the ledger', async () => {
    const node = servingNode();
    node.ledger.commit(channelAt(1));
    await node.catalogs.find('acme', 'stable');
    await node.engine.putSnapshot(uncompilable(channelAt(2)));
    const change = node.ledger.commit(channelAt(2));
    await node.catalogs.chase(change.channelId, change);
    expect(servedRevision(node)).toBe(2);
    expect(node.warnings).toEqual(['a snapshot could not be used']);
  });

  it('whose snapshot does not compile leaves the present catalog, with the ledger away', async () => {
    const node = servingNode();
    node.ledger.commit(channelAt(1));
    await node.catalogs.find('acme', 'stable');
    await node.engine.putSnapshot(uncompilable(channelAt(2)));
    node.ledger.fault = ledgerAway();
    await expect(
      node.catalogs.chase('chn_stable', { epoch: 0, revision: 2 }),
    ).rejects.toBeInstanceOf(Unavailable);
    expect(servedRevision(node)).toBe(1);
  });

  it('does not make a node take the snapshot of a channel with another id', async () => {
    const node = servingNode();
    node.ledger.commit(channelAt(1));
    await node.catalogs.find('acme', 'stable');
    await node.engine.putSnapshot(channelAt(90, 'stable', { channelId: 'chn_of_other_database' }));
    node.ledger.commit(channelAt(2));
    await node.catalogs.chase('chn_stable', { epoch: 0, revision: 2 });
    expect(servedRevision(node)).toBe(2);
    expect(node.catalogs.size).toBe(1);
  });

  it('is followed without an engine, too', async () => {
    const node = servingNode();
    node.ledger.commit(channelAt(1));
    await node.catalogs.find('acme', 'stable');
    node.engine.fault = engineAway();
    node.ledger.commit(channelAt(2));
    await node.catalogs.chase('chn_stable', { epoch: 0, revision: 2 });
    expect(servedRevision(node)).toBe(2);
  });

  it('that cannot be followed is logged and leaves what is served', async () => {
    const node = servingNode();
    const change = node.ledger.commit(channelAt(1));
    await node.catalogs.find('acme', 'stable');
    node.ledger.fault = ledgerAway();
    void node.catalogs.hear({ ...change, revision: 2 });
    await settle();
    expect(servedRevision(node)).toBe(1);
    expect(node.warnings).toEqual(['refresh failed']);
  });
});

describe('an unknown channel', () => {
  it('is refused without a read, and found once its creation was announced', async () => {
    const { catalogs, ledger } = servingNode();
    for (let time = 0; time < 5; time++) {
      expect(await catalogs.find('acme', 'stable')).toMatchObject({ failure: 'unknownApp' });
    }
    expect([ledger.reads, ledger.listings]).toEqual([[], 1]);
    void catalogs.hear(ledger.commit(channelAt(1)));
    expect(answerOf(await catalogs.find('acme', 'stable'))).toBe('found');
  });

  it('is refused at once, without a promise', async () => {
    const { catalogs, known, ledger } = servingNode();
    ledger.commit(channelAt(1));
    await known.refresh();
    await catalogs.find('other', 'stable');
    expect(catalogs.refused('other', 'stable')).toMatchObject({ failure: 'unknownApp' });
    expect(catalogs.refused('acme', 'beta')).toMatchObject({ failure: 'unknownChannel' });
    expect(catalogs.refused('acme', 'stable')).toBeUndefined();
  });

  it('is told from an unknown app', async () => {
    const { catalogs, ledger } = servingNode();
    ledger.commit(channelAt(1));
    expect(await catalogs.find('acme', 'beta')).toMatchObject({ failure: 'unknownChannel' });
    expect(await catalogs.find('other', 'beta')).toMatchObject({ failure: 'unknownApp' });
  });

  it('is found by ref and by id once this node has loaded it', async () => {
    const { catalogs, ledger } = servingNode();
    expect(answerOf(await catalogs.find('app_1', 'stable'))).toBe('unknownApp');
    ledger.commit(channelAt(1));
    await catalogs.reload('acme', 'stable');
    expect(answerOf(await catalogs.find('app_1', 'stable'))).toBe('found');
    expect(answerOf(await catalogs.find('acme', 'stable'))).toBe('found');
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

  it.each(['acme', 'app_1'])(
    'is found when its creation is announced while the list is read, asked for as %s',
    async (app) => {
      const { catalogs, known, ledger } = servingNode();
      let letGo = () => {};
      ledger.listGate = new Promise((resolve) => {
        letGo = resolve;
      });
      const early = catalogs.find(app, 'stable');
      await settle();
      // The list that is being read is from before the creation.
      void catalogs.hear(ledger.commit(channelAt(1)));
      letGo();
      expect(answerOf(await early)).toBe('found');
      expect(known.size).toBe(1);
    },
  );
});

describe('names that strangers invent', () => {
  it('cost no read, and no listing but the first', async () => {
    const { catalogs, ledger } = servingNode();
    const asked = Array.from({ length: 5000 }, (_, index) =>
      catalogs.find(`app${index}`, 'stable'),
    );
    expect(new Set((await Promise.all(asked)).map(answerOf))).toEqual(new Set(['unknownApp']));
    expect([ledger.reads, ledger.listings]).toEqual([[], 1]);
  });

  it('are asked of the ledger where not all names can be held: two at a time, and a second at most', async () => {
    const { catalogs, known, ledger } = servingNode();
    for (let index = 0; index <= NAMES; index++) ledger.commit(appAt(index));
    await known.refresh();
    expect([known.size, known.mayBeUnlisted]).toEqual([NAMES, true]);
    expect(answerOf(await catalogs.find(`app${NAMES}`, 'stable'))).toBe('found');
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
  it('called while one read runs shares exactly one further read, which sees what was committed before', async () => {
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
    expect(ledger.reads).toHaveLength(2);
    ledger.release();
    for (const read of await Promise.all(later)) expect(read?.revision).toBe(4);
    expect(ledger.reads).toHaveLength(2);
  });

  it('called while the further read runs is a third read', async () => {
    const { catalogs, ledger } = servingNode();
    ledger.commit(channelAt(1));
    ledger.hold();
    const first = catalogs.reload('acme', 'stable');
    const second = Promise.resolve().then(() => catalogs.reload('acme', 'stable'));
    await settle();
    ledger.releaseOne();
    await first;
    await settle();
    ledger.commit(channelAt(2));
    const third = catalogs.reload('acme', 'stable');
    await settle();
    expect(ledger.reads).toHaveLength(2);
    ledger.release();
    await second;
    expect((await third)?.revision).toBe(2);
    expect(ledger.reads).toHaveLength(3);
  });

  it('always sees what was committed before the call, whatever runs, and never two at a time', async () => {
    const { catalogs, ledger } = servingNode();
    let revision = 0;
    const calls = Array.from({ length: 40 }, async (_, index) => {
      for (let turn = 0; turn < index % 7; turn++) await new Promise((go) => setImmediate(go));
      revision += 1;
      const committed = ledger.commit(channelAt(revision)).revision;
      const read = await catalogs.reload('acme', 'stable');
      expect(read?.revision).toBeGreaterThanOrEqual(committed);
      expect(servedRevision({ catalogs })).toBeGreaterThanOrEqual(committed);
    });
    await Promise.all(calls);
    expect(ledger.runningMax).toBe(1);
    expect(ledger.reads.length).toBeLessThan(40);
  });

  it('that fails takes down only those who share it', async () => {
    const { catalogs, ledger } = servingNode();
    ledger.commit(channelAt(1));
    ledger.fault = ledgerAway();
    ledger.hold();
    const failing = catalogs.reload('acme', 'stable');
    failing.catch(() => {});
    await settle();
    ledger.fault = undefined;
    const next = catalogs.reload('acme', 'stable');
    ledger.release();
    await expect(failing).rejects.toBeInstanceOf(Unavailable);
    expect((await next)?.revision).toBe(1);
  });

  it('of one channel does not wait for that of another', async () => {
    const { catalogs, ledger } = servingNode();
    ledger.commit(channelAt(1));
    ledger.commit(channelAt(1, 'beta'));
    ledger.hold();
    const slow = catalogs.reload('acme', 'stable');
    const quick = catalogs.reload('acme', 'beta');
    await settle();
    ledger.releaseOne(1);
    expect((await quick)?.channel).toBe('beta');
    ledger.release();
    await slow;
  });

  it('of a channel that is not there is nothing', async () => {
    const { catalogs } = servingNode();
    expect(await catalogs.reload('acme', 'stable')).toBeUndefined();
    expect(catalogs.size).toBe(0);
  });
});

describe('an evicted channel', () => {
  it('leaves an empty slot to those who hold it, and is loaded again when asked for', async () => {
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
    expect(held.catalog).toBeUndefined();
    expect(held.planFor(query)).toBeUndefined();
    expect(catalogs.peek('acme', 'stable')).toBeUndefined();
    expect(catalogs.orders().has('chn_stable')).toBe(false);

    ledger.commit(channelAt(2));
    const again = slotOf(await catalogs.find('acme', 'stable'));
    expect(again).not.toBe(held);
    expect(servedRevision(node)).toBe(2);
    expect(held.catalog).toBeUndefined();
  });
});

describe('a noted offer', () => {
  const unoffered = (revision: number, versions: readonly string[]) =>
    channelAt(revision, 'stable', {
      releases: versions.map((version) => release(version, { offered: false })),
    });

  it('stands in the catalog, in the engine and on disk', async () => {
    const node = servingNode();
    node.ledger.commit(unoffered(1, ['1.0.0', '1.1.0']));
    const slot = slotOf(await node.catalogs.find('acme', 'stable'));
    const { catalog } = slot;
    if (catalog === undefined) throw new Error('not loaded');
    await node.engine.putSnapshot(catalog.snapshot);
    node.sharedOffers.tell(catalog, releaseOf(slot, '1.1.0'));
    await settle();
    expect(releaseOf(slot, '1.1.0').offered).toBe(true);
    expect(offeredIn(await node.engine.getSnapshot('acme', 'stable'))).toEqual(['1.1.0']);
    expect(offeredIn(await node.lastGood.find('acme', 'stable'))).toEqual(['1.1.0']);
  });

  it('does not undo one noted before', async () => {
    const node = servingNode();
    node.ledger.commit(unoffered(1, ['1.0.0', '1.1.0']));
    const slot = slotOf(await node.catalogs.find('acme', 'stable'));
    for (const version of ['1.1.0', '1.0.0']) {
      if (slot.catalog !== undefined) {
        node.sharedOffers.tell(slot.catalog, releaseOf(slot, version));
      }
    }
    await settle();
    for (const kept of [
      await node.engine.getSnapshot('acme', 'stable'),
      await node.lastGood.find('acme', 'stable'),
    ]) {
      expect(offeredIn(kept).sort()).toEqual(['1.0.0', '1.1.0']);
    }
  });

  it('of a catalog that was replaced meanwhile stands in the present one', async () => {
    const node = servingNode();
    node.ledger.commit(unoffered(1, ['1.0.0']));
    const slot = slotOf(await node.catalogs.find('acme', 'stable'));
    const { catalog } = slot;
    const decided = releaseOf(slot, '1.0.0');
    // This revision was read before the offer was recorded, and is installed before the offer is noted.
    node.ledger.commit(unoffered(2, ['1.0.0', '1.1.0']));
    await node.catalogs.reload('acme', 'stable');
    if (catalog === undefined) throw new Error('not loaded');
    expect(slot.catalog).not.toBe(catalog);
    node.sharedOffers.tell(catalog, decided);
    await settle();
    expect(decided.offered).toBe(true);
    expect(releaseOf(slot, '1.0.0').offered).toBe(true);
    expect(releaseOf(slot, '1.1.0').offered).toBe(false);
    for (const kept of [
      await node.engine.getSnapshot('acme', 'stable'),
      await node.lastGood.find('acme', 'stable'),
    ]) {
      expect(kept?.revision).toBe(2);
      expect(offeredIn(kept)).toEqual(['1.0.0']);
    }
  });

  it('is what a node that starts without the ledger serves by', async () => {
    const node = servingNode();
    node.ledger.commit(unoffered(1, ['1.0.0']));
    const slot = slotOf(await node.catalogs.find('acme', 'stable'));
    if (slot.catalog === undefined) throw new Error('not loaded');
    node.sharedOffers.tell(slot.catalog, releaseOf(slot, '1.0.0'));
    await settle();
    const started = servingNode();
    started.ledger.fault = ledgerAway();
    const kept = await node.lastGood.find('acme', 'stable');
    if (kept === undefined) throw new Error('not kept');
    started.lastGood.keep(kept);
    const found = slotOf(await started.catalogs.find('acme', 'stable'));
    expect(releaseOf(found, '1.0.0').offered).toBe(true);
  });

  it('is kept on disk with the engine away', async () => {
    const node = servingNode();
    node.ledger.commit(unoffered(1, ['1.0.0']));
    const slot = slotOf(await node.catalogs.find('acme', 'stable'));
    node.engine.fault = engineAway();
    if (slot.catalog === undefined) throw new Error('not loaded');
    node.sharedOffers.tell(slot.catalog, releaseOf(slot, '1.0.0'));
    await eventually('it is kept', async () => {
      return offeredIn(await node.lastGood.find('acme', 'stable')).length === 1;
    });
  });
});

/**
 * Returns a snapshot that a node of another version might share: well-formed, but this node cannot compile
 * it.
 */
function uncompilable(snapshot: ServingSnapshot): ServingSnapshot {
  const releases = snapshot.releases.map(({ artifacts: _left, ...rest }) => rest);
  return { ...snapshot, releases } as unknown as ServingSnapshot;
}
