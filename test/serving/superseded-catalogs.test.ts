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

const ROUNDS = 20;

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
    const releases = [release(`1.0.${revision}`, { offered: revision % 3 === 0 })];
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
  expect(catalogs.at(-1)?.deref()).toBeDefined();
  for (const query of queries) {
    expect(query.scope.slot).toBeDefined();
    expect(await checkOf(node, query)).toBe(`1.0.${ROUNDS}`);
  }
});
