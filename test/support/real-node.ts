// Starts a serving node on a PostgreSQL database and a Redis of its own.

import { migratedDatabase } from './migrated-database.ts';
import { type NodeSettings, type ServingNode, startNode } from './node.ts';
import { startRedis } from './redis-server.ts';

/** Makes a database and a Redis for one test; `postgresUrl` names any database of the run's server. */
export async function storesOn(postgresUrl: string) {
  const [database, redis] = await Promise.all([migratedDatabase(postgresUrl), startRedis()]);
  return {
    settings: { DATABASE_URL: database.url, REDIS_URL: redis.url } as NodeSettings,
    async drop(): Promise<void> {
      await Promise.all([database.drop(), redis.stop()]);
    },
  };
}

/** Starts the node; its `dispose` ends the stores too. */
export async function startNodeOnReal(
  postgresUrl: string,
  settings: NodeSettings = {},
): Promise<ServingNode> {
  // The node needs a Redis of its own: nodes take the check-ins of all nodes on a Redis, and drop those of
  // unknown apps.
  const stores = await storesOn(postgresUrl);
  try {
    return endingWith(await startNode({ ...stores.settings, ...settings }), stores.drop);
  } catch (error) {
    await stores.drop();
    throw error;
  }
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
