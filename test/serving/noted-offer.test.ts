// Tests where the mark of a first offer is noted: in the catalog, in the engine and on disk, whatever of them
// is newer or away.

import { expect, it } from 'vitest';
import type { ServingSnapshot } from '../../src/domain/decision/serving-snapshot.ts';
import { release } from '../domain/sample.ts';
import { ledgerAway } from '../support/fake-ledger.ts';
import {
  channelAt,
  engineAway,
  loadedNode,
  type ServingNode,
  servingNode,
  settle,
} from './serving-node.ts';

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

it('stands in the catalog, in the engine and on disk, and does not undo one noted before', async () => {
  const node = await loadedNode(unoffered(1, '1.0.0', '1.1.0'));
  await tell(node, ['1.1.0']);
  expect(await marks(node)).toEqual([['1.1.0'], ['1.1.0'], ['1.1.0']]);
  await tell(node, ['1.0.0']);
  const both = ['1.0.0', '1.1.0'];
  expect(await marks(node)).toEqual([both, both, both]);
});

it('of a catalog that was replaced meanwhile stands in the present one', async () => {
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

it('is kept on disk with the engine away, and a node that starts without the ledger serves by it', async () => {
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
