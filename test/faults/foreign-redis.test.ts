// Tests nodes whose Redis belongs to another deployment: they decide by their own database, say so, and leave
// that Redis alone.

import { afterEach, expect, inject, it } from 'vitest';
import { describeOnRealStores } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { metricsOf } from '../support/metrics.ts';
import { migratedDatabase } from '../support/migrated-database.ts';
import { type NodeSettings, type ServingNode, startNode } from '../support/node.ts';
import { startRedis } from '../support/redis-server.ts';
import { startProxy } from '../support/tcp-proxy.ts';
import { check, createTenant, devicesOf, publish, send } from '../support/tenant.ts';

const APP = 'app-of-both';
const NOWHERE = 'postgres://postgres@127.0.0.1:1/none';

const endings: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

describeOnRealStores('a node whose REDIS_URL leads to the Redis of another deployment', () => {
  it('serves its own database from an empty disk, and uses its own Redis once it is there', async () => {
    const [mine, theirs] = [await deployment('1.0.0'), await deployment('9.0.0')];
    const way = await startProxy(theirs.redisPort);
    endings.push(() => way.close());
    const wrong = `redis://127.0.0.1:${way.port}`;
    const node = await start({ DATABASE_URL: mine.databaseUrl, REDIS_URL: wrong });
    await offers(node, '1.0.0');
    await untilForeign(node, 1);
    expect(await metricsOf(node)).toContain('sluice_ledger_foreign 0');
    expect(node.output()).toContain('Redis is of another record');
    const message = expect.stringContaining('is of another record');
    await eventually('it is degraded', async () => {
      const { status, body } = await send(node, 'GET', '/readyz');
      expect(status).toBe(200);
      return body?.degraded !== undefined;
    });
    const { body } = await send(node, 'GET', '/readyz');
    expect(body?.degraded).toMatchObject([{ store: 'engine', message }]);
    // It takes nothing out of the Redis of the others.
    await check(theirs.node, theirs.tenant, '0.9.0', { device: 'theirs' });
    await eventually('their device is on their record', async () => {
      return (await devicesOf(theirs.node, theirs.tenant)).length > 0;
    });

    way.moveTo(mine.redisPort);
    await untilForeign(node, 0);
    way.moveTo(theirs.redisPort);
    await untilForeign(node, 1);
    await publish(mine.node, mine.tenant, '1.1.0');
    await offers(node, '1.1.0');
    // With what it has on disk it knows whose it is without its database.
    await node.stop();
    const alone = await node.restart({ DATABASE_URL: NOWHERE });
    endings.push(() => alone.dispose());
    await offers(alone, '1.1.0');
    await untilForeign(alone, 1);
  });
});

/** Starts a node with a database and a Redis of its own, and an app with one release. */
async function deployment(version: string) {
  const [database, redis] = [await migratedDatabase(inject('postgresUrl')), await startRedis()];
  endings.push(
    () => database.drop(),
    () => redis.stop(),
  );
  const node = await start({ DATABASE_URL: database.url, REDIS_URL: redis.url });
  const tenant = await createTenant(node, APP);
  await publish(node, tenant, version);
  await offers(node, version);
  return { node, tenant, databaseUrl: database.url, redisPort: redis.port };
}

async function start(settings: NodeSettings): Promise<ServingNode> {
  const node = await startNode(settings);
  endings.push(() => node.dispose());
  return node;
}

async function offers(node: ServingNode, version: string): Promise<void> {
  await eventually(`${version} is offered`, async () => {
    return (await check(node, { app: APP }, '0.9.0')).body?.version === version;
  });
}

async function untilForeign(node: ServingNode, figure: 0 | 1): Promise<void> {
  await eventually(`sluice_engine_foreign is ${figure}`, async () => {
    return (await metricsOf(node)).includes(`sluice_engine_foreign ${figure}`);
  });
}
