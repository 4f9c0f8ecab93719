// Tests the steps after a committed change: the node that answers serves it, the other nodes are told, and no
// fault of a store makes it look as if nothing was committed, or as if it was served when it is not.

import { expect, it, vi } from 'vitest';
import { createSpreadChange } from '../../src/operations/publishing/spread-change.ts';
import { Unavailable } from '../../src/ports/unavailable.ts';
import { ledgerAway } from '../support/fake-ledger.ts';
import { channelAt, engineAway, servedRevision, servingNode, settle } from './serving-node.ts';

function spreadingNode() {
  const node = servingNode();
  const spread = createSpreadChange(node.catalogs, node.engine.port, node.metrics, node.log);
  return { ...node, spread };
}

it('the node serves the new state when the change is spread, loaded before or not', async () => {
  const node = spreadingNode();
  await node.spread([node.ledger.commit(channelAt(1))]);
  expect(servedRevision(node)).toBe(1);
  await node.spread([node.ledger.commit(channelAt(2))]);
  expect(servedRevision(node)).toBe(2);
});

it('the others are given the snapshot before they are told of it', async () => {
  const node = spreadingNode();
  const found: (number | undefined)[] = [];
  node.engine.subscribe(
    ({ appRef, channel }) => {
      const shared = node.engine.getSnapshot(appRef, channel);
      void shared.then((snapshot) => found.push(snapshot?.revision));
    },
    () => {},
  );
  const change = node.ledger.commit(channelAt(1));
  await node.spread([change]);
  await settle();
  expect(node.engine.announced).toEqual([change]);
  expect(found).toEqual([1]);
});

it('what is announced is the revision that was read, when another change came in between', async () => {
  const node = spreadingNode();
  const change = node.ledger.commit(channelAt(1));
  node.ledger.commit(channelAt(2));
  await node.spread([change]);
  expect(servedRevision(node)).toBe(2);
  expect(node.engine.announced).toEqual([{ ...change, revision: 2 }]);
});

it('a change of several channels is spread for each', async () => {
  const node = spreadingNode();
  const channels = ['stable', 'beta', 'nightly'];
  await node.spread(channels.map((channel) => node.ledger.commit(channelAt(1, channel))));
  for (const channel of channels) expect(servedRevision(node, channel)).toBe(1);
  expect(node.engine.announced.map(({ channel }) => channel).sort()).toEqual(channels.sort());
});

it('many changes of one channel at once are each served when spread, with few reads', async () => {
  const node = spreadingNode();
  const spreads = Array.from({ length: 50 }, async (_, index) => {
    const change = node.ledger.commit(channelAt(index + 1));
    await node.spread([change]);
    expect(servedRevision(node)).toBeGreaterThanOrEqual(change.revision);
  });
  await Promise.all(spreads);
  expect(servedRevision(node)).toBe(50);
  expect(node.ledger.reads.length).toBeLessThanOrEqual(2);
});

it('an engine that is away is survived: this node serves the change', async () => {
  const node = spreadingNode();
  node.engine.fault = engineAway();
  await node.spread([node.ledger.commit(channelAt(1))]);
  expect(servedRevision(node)).toBe(1);
  expect(node.warnings).toEqual(['change committed, but could not be announced']);
});

it('an engine that takes no snapshot still announces', async () => {
  const node = spreadingNode();
  vi.spyOn(node.engine, 'putSnapshot').mockRejectedValue(engineAway());
  const change = node.ledger.commit(channelAt(1));
  await node.spread([change]);
  expect(node.engine.announced).toEqual([change]);
  expect(node.warnings).toEqual(['change committed, but its snapshot could not be shared']);
  expect(node.metrics.faults.counts.get('spread')).toBe(1);
});

it('a ledger that is away after the commit makes it unavailable, after the others were told', async () => {
  const node = spreadingNode();
  await node.spread([node.ledger.commit(channelAt(1))]);
  const change = node.ledger.commit(channelAt(2));
  node.ledger.fault = ledgerAway();
  const told: number[] = [];
  const outcome = node.spread([change]).catch((error: unknown) => {
    told.push(...node.engine.announced.map(({ revision }) => revision));
    throw error;
  });
  await expect(outcome).rejects.toMatchObject({ store: 'ledger' });
  await expect(outcome).rejects.toBeInstanceOf(Unavailable);
  expect(told).toEqual([1, 2]);
  expect(servedRevision(node)).toBe(1);
});

it('a ledger and an engine that are both away are the ledger being away', async () => {
  const node = spreadingNode();
  const change = node.ledger.commit(channelAt(1));
  node.ledger.fault = ledgerAway();
  node.engine.fault = engineAway();
  await expect(node.spread([change])).rejects.toMatchObject({ store: 'ledger' });
});

it('of several channels, one that cannot be read does not keep the others from being spread', async () => {
  const node = spreadingNode();
  const changes = ['stable', 'beta'].map((channel) => node.ledger.commit(channelAt(1, channel)));
  node.ledger.readFaults.set('acme/stable', ledgerAway());
  await expect(node.spread(changes)).rejects.toBeInstanceOf(Unavailable);
  await settle();
  expect(servedRevision(node, 'beta')).toBe(1);
  expect(node.engine.announced.map(({ channel }) => channel).sort()).toEqual(['beta', 'stable']);
});

it.each(['ledger', 'engine'] as const)(
  'nothing but an outage is swallowed: a bug of the %s comes out',
  async (part) => {
    const node = spreadingNode();
    const change = node.ledger.commit(channelAt(1));
    node[part].fault = new TypeError('bug');
    await expect(node.spread([change])).rejects.toThrow(TypeError);
  },
);

it('a channel that is gone again is announced, and nothing fails', async () => {
  const node = spreadingNode();
  const { appRef, channel, channelId, epoch, revision } = channelAt(3);
  const change = { appRef, channel, channelId, epoch, revision };
  await node.spread([change]);
  expect(node.engine.announced).toEqual([change]);
  expect(servedRevision(node)).toBeUndefined();
});
