// Tests a node whose record and engine are of different kinds: PostgreSQL without Redis, and Redis beside the
// embedded record (docs/operating/settings.md). All other tests have both or neither.

import { expect, it } from 'vitest';
import { describeOnRealStores, realStores } from '../support/backend.ts';
import { migratedDatabase } from '../support/migrated-database.ts';
import { startNode } from '../support/node.ts';
import { createTenant } from '../support/tenant.ts';

describeOnRealStores('a node with one store of its own', () => {
  it('serves with an in-process engine beside PostgreSQL, and with the embedded record beside Redis', async () => {
    const { postgresUrl = '', redisUrl } = realStores() ?? {};
    const database = await migratedDatabase(postgresUrl);
    for (const settings of [{ DATABASE_URL: database.url }, { REDIS_URL: redisUrl }]) {
      const node = await startNode(settings);
      try {
        const tenant = await createTenant(node, ['1.1.0']);
        expect((await tenant.check('1.0.0')).status).toBe(200);
      } finally {
        await node.dispose();
      }
    }
    await database.drop();
  });
});
