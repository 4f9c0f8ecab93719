// Tests that a remembered query (an address that devices ask by) keeps no superseded catalog alive: with
// thousands of addresses and a catalog of megabytes, each would hold the revision it was last asked at.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import type { ArtifactCandidate, Catalog } from '../../src/domain/decision/catalog.ts';
import type { CheckQuery } from '../../src/serving/catalog-slot.ts';
import { release } from '../domain/sample.ts';
import { eventually } from '../support/eventually.ts';
import {
  channelAt,
  checkOf,
  DEVICE,
  queryOf,
  type ServingNode,
  servedRevision,
  servingNode,
  settle,
} from './serving-node.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const ROUNDS = 60;
/** Maximum number of channels that `Catalogs` holds. */
const CHANNELS = 10_000;

/** Returns the node's present catalog without a reference to it on the caller's stack. */
function weaklyPresent({ catalogs }: ServingNode): WeakRef<Catalog> {
  const catalog = catalogs.peek('acme', 'stable')?.catalog;
  if (catalog === undefined) throw new Error('not loaded');
  return new WeakRef(catalog);
}

async function countAlive(refs: readonly WeakRef<Catalog>[]): Promise<number> {
  await settle();
  collectGarbage();
  return refs.filter((ref) => ref.deref() !== undefined).length;
}

it('queries asked once each, a publish between any two, keep only the present catalog', async () => {
  const node = servingNode();
  const queries: CheckQuery<ArtifactCandidate>[] = [];
  const catalogs: WeakRef<Catalog>[] = [];
  for (let revision = 1; revision <= ROUNDS; revision++) {
    node.ledger.commit(channelAt(revision));
    await node.catalogs.reload('acme', 'stable');
    const query = queryOf(`0.0.${revision}`);
    expect(node.check.now(query, DEVICE)).toMatchObject({ reason: 'offered' });
    queries.push(query);
    catalogs.push(weaklyPresent(node));
  }
  await eventually('old catalogs are collected', async () => (await countAlive(catalogs)) <= 1);
  expect(catalogs.at(-1)?.deref()).toBeDefined();
  for (const query of queries) {
    expect(node.check.now(query, DEVICE)).toMatchObject({ reason: 'offered' });
    expect(await checkOf(node, query)).toBe(`1.0.${ROUNDS}`);
  }
});

it('first offers and catching up on the way leave nothing behind either', async () => {
  const node = servingNode();
  const queries: CheckQuery<ArtifactCandidate>[] = [];
  const catalogs: WeakRef<Catalog>[] = [];
  for (let revision = 1; revision <= ROUNDS; revision++) {
    const releases = [release(`1.0.${revision}`, { offered: false })];
    const change = node.ledger.commit(channelAt(revision, 'stable', { releases }));
    void node.catalogs.hear(change);
    const query = queryOf(`0.0.${revision}`);
    // In half of the rounds the check decides from the old catalog, finds it stale, and decides again.
    if (revision % 2 === 0) await settle();
    expect(await node.check.later(query, DEVICE)).toMatchObject({ reason: 'offered' });
    await settle();
    expect(servedRevision(node)).toBe(revision);
    queries.push(query);
    catalogs.push(weaklyPresent(node));
  }
  await eventually('old catalogs are collected', async () => (await countAlive(catalogs)) <= 1);
  expect(queries.every(({ scope }) => scope.slot !== undefined)).toBe(true);
});

it('a query whose channel was evicted keeps neither its catalog nor its plan', async () => {
  const node = servingNode();
  node.ledger.commit(channelAt(1));
  const query = queryOf('0.0.1');
  await node.check.later(query, DEVICE);
  expect(node.check.now(query, DEVICE)).toMatchObject({ reason: 'offered' });
  const catalog = weaklyPresent(node);
  // As many other channels as a node can hold.
  for (let index = 0; index < CHANNELS; index++) {
    const name = `app${index}`;
    node.ledger.commit(
      channelAt(1, 'stable', { appId: name, appRef: name, channelId: `chn_${name}` }),
    );
  }
  await node.known.refresh();
  for (let index = 0; index < CHANNELS; index++) await node.catalogs.find(`app${index}`, 'stable');
  await eventually('it is collected', async () => (await countAlive([catalog])) === 0);

  expect(query.scope.slot).toBeDefined();
  expect(node.check.now(query, DEVICE)).toBeUndefined();
  expect(await node.check.later(query, DEVICE)).toMatchObject({ reason: 'offered' });
  expect(node.check.now(query, DEVICE)).toMatchObject({ reason: 'offered' });
});
