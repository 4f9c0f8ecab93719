// The two ways the service is set up. Suites that speak HTTP run unchanged on both.

import { describe, inject } from 'vitest';
import { type FreshDatabase, freshDatabase } from './fresh-database.ts';
import type { NodeSettings } from './node.ts';
import { type ServingNode, startNode } from './node.ts';

export type Backend = {
  readonly name: 'embedded' | 'PostgreSQL and Redis';
  /** Starts a node with stores of its own; `dispose` ends both. */
  start(settings?: NodeSettings): Promise<ServingNode>;
};

const embedded: Backend = { name: 'embedded', start: startNode };

/** Runs a suite against the embedded set-up and against the real stores, as far as they are there. */
export function describeOnBackends(title: string, suite: (backend: Backend) => void): void {
  describe(`${title} (embedded)`, () => suite(embedded));
  const real = realStores();
  if (real === undefined) {
    describe.skip(`${title} (skipped: no PostgreSQL or no Redis on this machine)`, () =>
      suite(embedded));
    return;
  }
  describe(`${title} (PostgreSQL and Redis)`, () =>
    suite({ name: 'PostgreSQL and Redis', start: (settings) => startOnReal(real, settings) }));
}

/** The run's real stores, or undefined when one of them is missing. */
export function realStores(): { postgresUrl: string; redisUrl: string } | undefined {
  const postgresUrl = inject('postgresUrl');
  const redisUrl = inject('redisUrl');
  return postgresUrl === '' || redisUrl === '' ? undefined : { postgresUrl, redisUrl };
}

async function startOnReal(
  stores: { postgresUrl: string; redisUrl: string },
  settings: NodeSettings = {},
): Promise<ServingNode> {
  const database = await freshDatabase(stores.postgresUrl);
  const node = await startNode({
    DATABASE_URL: database.url,
    REDIS_URL: stores.redisUrl,
    ...settings,
  });
  return droppingWith(node, database);
}

function droppingWith(node: ServingNode, database: FreshDatabase): ServingNode {
  return {
    ...node,
    restart: async (changed) => droppingWith(await node.restart(changed), database),
    async dispose() {
      await node.dispose();
      await database.drop();
    },
  };
}
