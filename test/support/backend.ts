// The two ways the service is set up. Suites that speak HTTP run unchanged on both.

import { describe, inject } from 'vitest';
import { freshDatabase } from './fresh-database.ts';
import type { NodeSettings } from './node.ts';
import { type ServingNode, startNode } from './node.ts';
import { startRedis } from './redis-server.ts';

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
  // A Redis of its own: nodes take the check-ins of whoever shares it, and drop those of unknown apps.
  const [database, redis] = await Promise.all([freshDatabase(stores.postgresUrl), startRedis()]);
  const node = await startNode({ DATABASE_URL: database.url, REDIS_URL: redis.url, ...settings });
  return endingWith(node, async () => {
    await Promise.all([database.drop(), redis.stop()]);
  });
}

function endingWith(node: ServingNode, end: () => Promise<void>): ServingNode {
  return {
    ...node,
    restart: async (changed) => endingWith(await node.restart(changed), end),
    async dispose() {
      await node.dispose();
      await end();
    },
  };
}
