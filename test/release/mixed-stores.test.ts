// Tests a node whose record and engine are of different kinds: PostgreSQL without Redis, and Redis beside the
// embedded record (docs/operating/settings.md). All other tests have both or neither.

import { describe, expect, it } from 'vitest';
import { realStores } from '../support/backend.ts';
import { migratedDatabase } from '../support/migrated-database.ts';
import { startNode } from '../support/node.ts';
import { check, createTenant, publish } from '../support/tenant.ts';

describe('a node with one store of its own', () => {
  it('serves with an in-process engine beside PostgreSQL', async ({ skip }) => {
    const real = realStores();
    if (real === undefined) return skip('no PostgreSQL on this machine');
    const database = await migratedDatabase(real.postgresUrl);
    const node = await startNode({ DATABASE_URL: database.url });
    try {
      await servesATenant(node);
    } finally {
      await node.dispose();
      await database.drop();
    }
  });

  it('serves with the embedded record beside Redis', async ({ skip }) => {
    const real = realStores();
    if (real === undefined) return skip('no Redis on this machine');
    const node = await startNode({ REDIS_URL: real.redisUrl });
    try {
      await servesATenant(node);
    } finally {
      await node.dispose();
    }
  });
});

async function servesATenant(node: Awaited<ReturnType<typeof startNode>>): Promise<void> {
  const tenant = await createTenant(node);
  expect((await publish(node, tenant, '1.1.0')).status).toBe(201);
  expect((await check(node, tenant, '1.0.0')).status).toBe(200);
}
