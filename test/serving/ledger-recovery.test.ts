// Tests what a node does about a ledger that went back: it serves what the ledger has, and writes the marks
// of offered releases back before the ledger accepts another change of them.

import { describe, expect, it } from 'vitest';
import { isFailure } from '../../src/contract/failure.ts';
import { Unavailable } from '../../src/contract/store-fault.ts';
import type { ServingSnapshot } from '../../src/domain/decision/serving-snapshot.ts';
import { guardChanges } from '../../src/serving/guard-changes.ts';
import type { Ledger } from '../../src/store/ledger.ts';
import { type KnownState, LedgerBehind } from '../../src/store/ledger-terms.ts';
import { ledgerAway } from '../support/fake-ledger.ts';
import {
  channelAt,
  engineAway,
  loadedNode,
  type ServingNode,
  servingNode,
  settle,
} from './serving-node.ts';

/** State that a ledger is in which went back to revision 3 and is followed. */
const AFTER = { epoch: 1, revision: 3 };

/** State of the channel with one release of a fixed id, offered or not. */
function stateAt(revision: number, isOffered: boolean, epoch = 0): ServingSnapshot {
  const snapshot = channelAt(revision);
  const releases = snapshot.releases.map((each) => ({
    ...each,
    id: 'rel_1',
    version: '1.0.0',
    offered: isOffered,
  }));
  return { ...snapshot, epoch, releases };
}

function servedOf({ catalogs }: ServingNode) {
  const snapshot = catalogs.peek('acme', 'stable')?.catalog?.snapshot;
  return snapshot && { epoch: snapshot.epoch, revision: snapshot.revision };
}

async function isOfferedInLedger(node: ServingNode): Promise<boolean | undefined> {
  const snapshot = await node.ledger.readSnapshot('acme', 'stable');
  return typeof snapshot === 'string' ? undefined : snapshot.releases[0]?.offered;
}

function copiesOf({ engine, diskSnapshots }: ServingNode) {
  return Promise.all(
    [engine, diskSnapshots].map((place) => {
      return 'getSnapshot' in place
        ? place.getSnapshot('acme', 'stable')
        : place.find('acme', 'stable');
    }),
  );
}

/** Node that serves revision 6, which engine and disk have, too; the ledger then went back to revision 3. */
async function rewoundNode(): Promise<ServingNode> {
  const node = await loadedNode(stateAt(6, true));
  await node.engine.putSnapshot(stateAt(6, true));
  await settle();
  node.ledger.goBackTo(stateAt(3, false));
  return node;
}

describe('a ledger that went back', () => {
  it('is followed at the next poll, with its marks of offers written back first', async () => {
    const node = await rewoundNode();
    await node.refresher.poll();
    expect(servedOf(node)).toEqual(AFTER);
    expect(await isOfferedInLedger(node)).toBe(true);
    for (const place of await copiesOf(node)) expect(place).toMatchObject(AFTER);
    expect(node.report.epochs).toEqual([1]);
    expect(node.metrics.ledgerRewinds.counts.get('offer-restored')).toBe(1);
  });

  it('is followed by a node that starts, whatever engine and disk have', async () => {
    const node = servingNode();
    await node.engine.putSnapshot(stateAt(6, false));
    node.diskSnapshots.keep(stateAt(7, true));
    node.ledger.commit(stateAt(3, false));
    const found = await node.catalogs.find('acme', 'stable');
    expect(isFailure(found)).toBe(false);
    // The answer does not wait for the comparison.
    expect(servedOf(node)).toEqual({ epoch: 0, revision: 3 });
    await settle();
    expect(servedOf(node)).toEqual(AFTER);
    expect(await isOfferedInLedger(node)).toBe(true);
    for (const place of await copiesOf(node)) expect(place).toMatchObject(AFTER);
  });

  it('that lost a mark alone gets it back, and keeps its epoch', async () => {
    const node = await rewoundNode();
    node.ledger.goBackTo(stateAt(6, false));
    await node.catalogs.reload('acme', 'stable');
    expect(await isOfferedInLedger(node)).toBe(true);
    expect(node.ledger.epoch).toBe(0);
  });

  it('is recognised by what the engine refuses to give up', async () => {
    const node = servingNode();
    node.engine.fault = engineAway();
    node.ledger.commit(stateAt(3, false));
    await node.catalogs.find('acme', 'stable');
    await settle();
    node.engine.fault = undefined;
    await node.engine.putSnapshot(stateAt(6, true));
    node.ledger.commit(stateAt(4, false));
    await node.catalogs.refresh('chn_stable');
    await settle();
    expect(servedOf(node)).toEqual({ epoch: 1, revision: 4 });
    expect(await isOfferedInLedger(node)).toBe(true);
  });

  it('is compared with the copies later when the ledger was away meanwhile', async () => {
    const node = servingNode();
    await node.engine.putSnapshot(stateAt(6, true));
    node.ledger.commit(stateAt(3, false));
    const restoreOffers = node.ledger.restoreOffers.bind(node.ledger);
    node.ledger.restoreOffers = () => Promise.reject(ledgerAway());
    await node.catalogs.find('acme', 'stable');
    await settle();
    expect(servedOf(node)).toEqual({ epoch: 0, revision: 3 });
    expect(await node.diskSnapshots.find('acme', 'stable')).toBeUndefined();
    node.ledger.restoreOffers = restoreOffers;
    await node.refresher.poll();
    expect([servedOf(node), await isOfferedInLedger(node)]).toEqual([AFTER, true]);
  });

  it('that refuses writes is not followed', async () => {
    const node = await rewoundNode();
    node.ledger.raiseEpoch = () => Promise.reject(ledgerAway());
    await node.refresher.poll();
    expect(servedOf(node)).toEqual({ epoch: 0, revision: 6 });
  });

  it('is not suspected for a change that another node has shared meanwhile', async () => {
    const node = servingNode();
    node.ledger.commit(stateAt(3, false));
    node.ledger.hold();
    const found = node.catalogs.find('acme', 'stable');
    await settle();
    node.ledger.commit(stateAt(4, true));
    await node.engine.putSnapshot(stateAt(4, true));
    node.ledger.release();
    await found;
    await settle();
    expect(servedOf(node)).toEqual({ epoch: 0, revision: 4 });
    expect(node.report.epochs).toEqual([]);
  });
});

describe('a state of a later epoch', () => {
  it('does not take a mark of an earlier epoch for one that the ledger has', async () => {
    const node = servingNode();
    node.ledger.epoch = 1;
    node.ledger.commit(stateAt(3, false, 1));
    await node.catalogs.find('acme', 'stable');
    void node.catalogs.hear({ ...stateAt(9, false), offeredReleaseId: 'rel_1' });
    const slot = node.catalogs.peek('acme', 'stable');
    expect(slot?.catalog?.byCanonical.get('1.0.0')?.offered).toBe(false);
    await node.refresher.poll();
    expect(await isOfferedInLedger(node)).toBe(true);
  });

  it('that the ledger answers late keeps the marks of the copy that is served meanwhile', async () => {
    const node = servingNode();
    node.ledger.commit(stateAt(3, false));
    node.ledger.epoch = 1;
    node.ledger.hold();
    const late = node.catalogs.find('acme', 'stable');
    await settle();
    await node.catalogs.adoptShared(stateAt(6, true));
    node.diskSnapshots.keep(stateAt(6, true));
    node.ledger.release();
    await late;
    await settle();
    expect(servedOf(node)).toEqual(AFTER);
    expect(await isOfferedInLedger(node)).toBe(true);
  });

  it('keeps a mark that is told while it takes the place of the earlier one', async () => {
    const withSecond = (state: ServingSnapshot) => ({
      ...state,
      releases: [...state.releases, { ...channelAt(9).releases[0], id: 'rel_2', offered: false }],
    });
    const node = servingNode();
    const earlier = withSecond(stateAt(6, true)) as ServingSnapshot;
    node.ledger.commit(earlier);
    await node.catalogs.find('acme', 'stable');
    node.ledger.goBackTo(withSecond(stateAt(3, false)) as ServingSnapshot);
    await node.ledger.raiseEpoch(0);
    const restoreOffers = node.ledger.restoreOffers.bind(node.ledger);
    let isTold = false;
    node.ledger.restoreOffers = (...args) => {
      if (!isTold) node.catalogs.noteOffered('chn_stable', earlier, new Set(['rel_2']));
      isTold = true;
      return restoreOffers(...args);
    };
    await node.catalogs.adoptShared(withSecond(stateAt(3, false, 1)) as ServingSnapshot);
    expect(isTold).toBe(true);
    expect(servedOf(node)).toEqual(AFTER);
    const { catalog } = node.catalogs.peek('acme', 'stable') ?? {};
    expect(catalog?.marked.releases.map(({ offered }) => offered)).toEqual([true, true]);
    const inLedger = await node.ledger.readSnapshot('acme', 'stable');
    expect(inLedger).toMatchObject({ releases: [{ offered: true }, { offered: true }] });
  });

  it('is served while the ledger is away, and the marks are written back once it is there', async () => {
    const node = await rewoundNode();
    await node.ledger.raiseEpoch(0);
    node.ledger.fault = ledgerAway();
    await node.engine.putSnapshot(stateAt(3, false, 1));
    await node.catalogs.catchUp('chn_stable', { epoch: 1, revision: 3 });
    expect(servedOf(node)).toEqual(AFTER);
    node.ledger.fault = undefined;
    expect(await isOfferedInLedger(node)).toBe(false);
    await node.refresher.poll();
    expect(await isOfferedInLedger(node)).toBe(true);
  });
});

describe('a change', () => {
  /** Ledger that accepts changes as the real one does, and keeps what the caller knew. */
  function changing(node: ServingNode) {
    const known: (KnownState | undefined)[] = [];
    const ledger = {
      async updateChannel({ known: states }: Parameters<Ledger['updateChannel']>[0]) {
        const state = states?.get('stable');
        known.push(state);
        const present = await node.ledger.readSnapshot('acme', 'stable');
        if (typeof present === 'string' || state === undefined) return 'changed';
        const isBehind =
          present.epoch < state.epoch ||
          (present.epoch === state.epoch && present.revision < state.revision);
        const lacking = present.releases.filter(({ offered }) => !offered).map(({ id }) => id);
        if (isBehind || state.offeredAmong(lacking).length > 0) throw new LedgerBehind(state);
        return 'changed';
      },
    } as unknown as Ledger;
    const guarded = guardChanges(ledger, node.catalogs);
    const change = () =>
      guarded.updateChannel({
        input: { app: 'acme', channel: 'stable', change: {} },
        actor: { kind: 'admin-token' },
      });
    return { known, change };
  }

  it('of a ledger that is behind this node is accepted once it is recovered', async () => {
    const node = await rewoundNode();
    node.engine.fault = engineAway();
    const { known, change } = changing(node);
    expect(await change()).toBe('changed');
    expect(known).toMatchObject([{ epoch: 0, revision: 6 }, AFTER]);
    const offered = known.map((state) => state?.offeredAmong(['rel_1', 'rel_2']));
    expect(offered).toEqual([['rel_1'], ['rel_1']]);
    expect(await isOfferedInLedger(node)).toBe(true);
  });

  it.each(['engine', 'disk'])(
    'of a ledger that is behind the %s alone is accepted then, too',
    async (place) => {
      const node = servingNode();
      node.ledger.commit(stateAt(3, false));
      if (place === 'disk') node.diskSnapshots.keep(stateAt(6, true));
      else await node.engine.putSnapshot(stateAt(6, true));
      expect(await changing(node).change()).toBe('changed');
      expect(node.ledger.epoch).toBe(1);
      expect(await isOfferedInLedger(node)).toBe(true);
    },
  );

  it('of a ledger that stays behind is unavailable', async () => {
    const node = await rewoundNode();
    node.ledger.restoreOffers = async () => 0;
    const { change } = changing(node);
    await expect(change()).rejects.toBeInstanceOf(Unavailable);
  });

  it('of a channel that nobody has loaded needs no copy', async () => {
    const node = servingNode();
    node.ledger.commit(stateAt(3, false));
    const { known, change } = changing(node);
    expect([await change(), known, servedOf(node)]).toEqual(['changed', [undefined], undefined]);
  });
});
