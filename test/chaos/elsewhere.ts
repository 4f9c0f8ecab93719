// What the addresses of a chaos run may lead to by mistake: a copy of the service, and the Redis of another
// deployment.

import { Redis } from 'ioredis';
import { copiedDatabase } from '../support/copied-database.ts';
import { freshDatabase } from '../support/fresh-database.ts';
import { type ServingNode, startNode } from '../support/node.ts';
import { queueLength } from '../support/redis-keys.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { check, createTenant, publish } from '../support/tenant.ts';
import { CHAOS_SETTINGS, type World } from './world.ts';

/** Version that only the other deployment has published. */
const THEIRS = '9.9.9';

export type RecoverySite = { readonly node: ServingNode; dispose(): Promise<void> };

/** Starts a service on a dump of the ledger, with the keys and tokens of the other one. */
export async function startRecoverySite(world: World): Promise<RecoverySite> {
  const database = await copiedDatabase(world.databaseUrl());
  const node = await startNode({ ...CHAOS_SETTINGS, DATABASE_URL: database.url });
  return {
    node,
    async dispose() {
      await node.dispose();
      await database.drop();
    },
  };
}

export type ForeignRedis = RedisServer & {
  /** Returns the number of check-ins that wait in it, none of which is for anybody here. */
  countWaiting(): Promise<number>;
};

/** Starts a Redis that another deployment has filled, whose apps have the same names. */
export async function startForeignRedis(
  world: World,
  appRefs: readonly string[],
): Promise<ForeignRedis> {
  const redis = await startRedis();
  const database = await freshDatabase(world.databaseUrl());
  const node = await startNode({
    ...CHAOS_SETTINGS,
    DATABASE_URL: database.url,
    REDIS_URL: redis.url,
  });
  try {
    for (const ref of appRefs) {
      const tenant = await createTenant(node, ref);
      const published = await publish(node, tenant, THEIRS);
      if (published.status !== 201) throw new Error(`not published: ${published.text}`);
      await check(node, tenant, '1.0.0');
    }
    return { ...redis, countWaiting: () => countWaiting(redis) };
  } finally {
    await node.dispose();
    await database.drop();
  }
}

async function countWaiting({ url }: RedisServer): Promise<number> {
  const client = new Redis(url);
  try {
    return await queueLength(client);
  } finally {
    client.disconnect();
  }
}
