// What the addresses of a chaos run may lead to by mistake: a copy of the service, and the Redis of another
// deployment.

import { Redis } from 'ioredis';
import { copiedDatabase } from '../support/copied-database.ts';
import { freshDatabase } from '../support/fresh-database.ts';
import { startNode } from '../support/node.ts';
import { queueLength } from '../support/redis-keys.ts';
import { startRedis } from '../support/redis-server.ts';
import { createNamed } from '../support/tenant.ts';
import { CHAOS_SETTINGS, type World } from './world.ts';

/** Version that only the other deployment has published. */
const THEIRS = '9.9.9';

/** Starts a service on a dump of the ledger, with the keys and tokens of the other one. */
export async function startRecoverySite(world: World) {
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

/** Starts a Redis that another deployment has filled, whose apps have the same names. */
export async function startForeignRedis(world: World, appRefs: readonly string[]) {
  const redis = await startRedis();
  const database = await freshDatabase(world.databaseUrl());
  const stores = { DATABASE_URL: database.url, REDIS_URL: redis.url };
  const node = await startNode({ ...CHAOS_SETTINGS, ...stores });
  try {
    for (const ref of appRefs) {
      const tenant = await createNamed(node, ref);
      const published = await tenant.publish(THEIRS);
      if (published.status !== 201) throw new Error(`not published: ${published.text}`);
      await tenant.check('1.0.0');
    }
  } finally {
    await node.dispose();
    await database.drop();
  }
  /** Returns the number of check-ins that wait in it, none of which is for anybody here. */
  const countWaiting = async () => {
    const client = new Redis(redis.url);
    try {
      return await queueLength(client);
    } finally {
      client.disconnect();
    }
  };
  return { ...redis, countWaiting };
}
