// Tests the steps after a committed change: the node that answers serves it, the other nodes are told, and no
// fault of a store makes it look as if nothing was committed, or as if it was served when it is not.

import { afterEach, expect, it, vi } from 'vitest';
import { Unavailable } from '../../src/contract/store-fault.ts';
import { createPropagateChange, RETELL_MS } from '../../src/publishing/propagate-change.ts';
import {
  channelAt,
  engineAway,
  servedRevision,
  servingNode,
  settle,
} from '../serving/serving-node.ts';
import { ledgerAway } from '../support/fake-ledger.ts';

afterEach(() => vi.useRealTimers());

function propagatingNode() {
  const node = servingNode();
  const propagate = createPropagateChange(node.catalogs, node.engine, node.metrics, node.log);
  return { ...node, propagate };
}

it('the node serves the new state when the change is propagated, loaded before or not', async () => {
  const node = propagatingNode();
  await node.propagate([node.ledger.commit(channelAt(1))]);
  expect(servedRevision(node)).toBe(1);
  const change = node.ledger.commit(channelAt(2));
  // Another change came in between: what is announced is the revision that was read.
  node.ledger.commit(channelAt(3));
  await node.propagate([change]);
  expect(servedRevision(node)).toBe(3);
  expect(node.engine.announced.at(-1)).toEqual({ ...change, revision: 3 });
});

it('the others are given the snapshot before they are told of it', async () => {
  const node = propagatingNode();
  const found: (number | undefined)[] = [];
  node.engine.subscribe(
    ({ appRef, channel }) => {
      const shared = node.engine.getSnapshot(appRef, channel);
      void shared.then((snapshot) => found.push(snapshot?.revision));
    },
    () => {},
  );
  const change = node.ledger.commit(channelAt(1));
  await node.propagate([change]);
  await settle();
  expect(node.engine.announced).toEqual([change]);
  expect(found).toEqual([1]);
});

it('many changes of one channel at once are each served when propagated, with few reads', async () => {
  const node = propagatingNode();
  const propagations = Array.from({ length: 50 }, async (_, index) => {
    const change = node.ledger.commit(channelAt(index + 1));
    await node.propagate([change]);
    expect(servedRevision(node)).toBeGreaterThanOrEqual(change.revision);
  });
  await Promise.all(propagations);
  expect(servedRevision(node)).toBe(50);
  expect(node.ledger.reads.length).toBeLessThanOrEqual(2);
});

it('what the engine missed it is told once it is back: each channel its latest state', async () => {
  const node = propagatingNode();
  node.engine.fault = engineAway();
  await node.propagate([
    node.ledger.commit(channelAt(1)),
    node.ledger.commit(channelAt(1, 'beta')),
  ]);
  // This node serves the change.
  expect(servedRevision(node)).toBe(1);
  expect(node.warnings).toEqual(['change committed, but could not be announced']);
  const latest = node.ledger.commit(channelAt(2));
  await node.propagate([latest]);
  // The ledger is not asked again: it may be away by then.
  node.ledger.fault = ledgerAway();
  node.engine.fault = undefined;
  await vi.waitFor(() => expect(node.engine.announced).toHaveLength(2));
  expect(node.engine.announced).toContainEqual(latest);
  expect(await node.engine.getSnapshotHead('acme', 'stable')).toMatchObject({ revision: 2 });
  expect(await node.engine.getSnapshotHead('acme', 'beta')).toMatchObject({ revision: 1 });
});

it('a fault of this program while they are told again keeps none of them back', async () => {
  const node = propagatingNode();
  node.engine.fault = engineAway();
  const changes = ['beta', 'stable'].map((channel) => node.ledger.commit(channelAt(1, channel)));
  await node.propagate(changes);
  node.engine.fault = new TypeError('not a channel');
  const failed = 'a change could not be announced later';
  await vi.waitFor(() => expect(node.warnings).toContain(failed));
  node.engine.fault = undefined;
  await vi.waitFor(() => expect(node.engine.announced).toHaveLength(2));
});

it('an engine that stays away is asked once a turn, and what a later change told is not told again', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const node = propagatingNode();
  node.engine.fault = engineAway();
  const commit = (channel: string) => node.ledger.commit(channelAt(1, channel));
  await node.propagate(['beta', 'nightly', 'stable'].map(commit));
  const asked = vi.spyOn(node.engine, 'putSnapshot');
  for (let turn = 1; turn <= 3; turn++) {
    await vi.advanceTimersByTimeAsync(RETELL_MS);
    await settle();
    expect(asked).toHaveBeenCalledTimes(turn);
  }
  node.engine.fault = undefined;
  await node.propagate([node.ledger.commit(channelAt(2))]);
  await vi.advanceTimersByTimeAsync(3 * RETELL_MS);
  await settle();
  const told = node.engine.announced.map(({ channel, revision }) => `${channel} ${revision}`);
  expect(told.toSorted()).toEqual(['beta 1', 'nightly 1', 'stable 2']);
});

it('an engine that takes no snapshot still announces', async () => {
  const node = propagatingNode();
  vi.spyOn(node.engine, 'putSnapshot').mockRejectedValue(engineAway());
  const change = node.ledger.commit(channelAt(1));
  await node.propagate([change]);
  expect(node.engine.announced).toEqual([change]);
  expect(node.warnings).toEqual(['change committed, but its snapshot could not be shared']);
  expect(node.metrics.faults.counts.get('spread')).toBe(1);
});

it.each([undefined, engineAway()])(
  'a ledger that is away after the commit makes it unavailable, after the others were told: engine %o',
  async (engineFault) => {
    const node = propagatingNode();
    await node.propagate([node.ledger.commit(channelAt(1))]);
    const change = node.ledger.commit(channelAt(2));
    node.ledger.fault = ledgerAway();
    node.engine.fault = engineFault;
    const outcome = node.propagate([change]).catch((error: unknown) => {
      return { error, told: node.engine.announced.map(({ revision }) => revision) };
    });
    const { error, told } = (await outcome) as { error: unknown; told: readonly number[] };
    expect(error).toBeInstanceOf(Unavailable);
    expect(error).toMatchObject({ store: 'ledger' });
    expect(told).toEqual(engineFault === undefined ? [1, 2] : [1]);
    expect(servedRevision(node)).toBe(1);
  },
);

it('of several channels, one that cannot be read does not keep the others from being propagated', async () => {
  const node = propagatingNode();
  const channels = ['beta', 'nightly', 'stable'];
  const changes = channels.map((channel) => node.ledger.commit(channelAt(1, channel)));
  node.ledger.readFaults.set('acme/stable', ledgerAway());
  await expect(node.propagate(changes)).rejects.toBeInstanceOf(Unavailable);
  await settle();
  expect(channels.map((channel) => servedRevision(node, channel))).toEqual([1, 1, undefined]);
  expect(node.engine.announced.map(({ channel }) => channel).sort()).toEqual(channels);
});

it('nothing but an outage is swallowed: a bug of the ledger or the engine comes out', async () => {
  for (const part of ['ledger', 'engine'] as const) {
    const node = propagatingNode();
    const change = node.ledger.commit(channelAt(1));
    node[part].fault = new TypeError('bug');
    await expect(node.propagate([change])).rejects.toThrow(TypeError);
  }
});

it('a channel that is gone again is announced, and nothing fails', async () => {
  const node = propagatingNode();
  const { appRef, channel, channelId, epoch, revision } = channelAt(3);
  const change = { appRef, channel, channelId, epoch, revision };
  await node.propagate([change]);
  expect(node.engine.announced).toEqual([change]);
  expect(servedRevision(node)).toBeUndefined();
});
