// Tests nodes whose database or Redis is not the one that had their channels: they serve what is known, tell
// what they cannot know as 503, write nothing into it, and go on by themselves once the right one is there.
// Which database is believed: test/faults/record-database.test.ts.

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, inject, it } from 'vitest';
import { logLines } from '../support/admin-address.ts';
import { describeOnRealStores } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { metricsOf } from '../support/metrics.ts';
import { migratedDatabase } from '../support/migrated-database.ts';
import { type NodeSettings, type ServingNode, startNode } from '../support/node.ts';
import { endWithSuite, own } from '../support/own.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { type ReplaceableDatabase, replaceableDatabase } from '../support/replaceable-database.ts';
import { startProxy } from '../support/tcp-proxy.ts';
import { admin, createNamed, createTenant, send, type Tenant } from '../support/tenant.ts';

const NOWHERE = 'postgres://postgres@127.0.0.1:1/none';
/** Name of an app in both deployments. */
const APP = 'app-of-both';
const FOREIGN = 'the database is not the record';

describeOnRealStores('a store of another record', () => {
  let database: ReplaceableDatabase;
  let redis: RedisServer;
  let running: ServingNode;
  let tenant: Tenant;
  let lost: Tenant;

  beforeAll(async () => {
    [database, redis] = await Promise.all([
      replaceableDatabase(inject('postgresUrl')),
      startRedis(),
    ]);
    running = await startNode({ DATABASE_URL: database.url, REDIS_URL: redis.url });
    tenant = await createNamed(running, APP);
    lost = await createTenant(running);
    for (const each of [tenant, lost]) {
      await each.publish('1.0.0');
      await each.untilOffered('1.0.0');
    }
  });
  endWithSuite(() => [running, database, redis]);

  async function start(settings: NodeSettings = {}): Promise<ServingNode> {
    const stores = { DATABASE_URL: database.url, REDIS_URL: redis.url };
    return own(await startNode({ ...stores, ...settings }));
  }

  it('an empty database is answered for by running and restarted nodes from what is known, never with 404', async () => {
    const restarted = await start();
    await tenant.at(restarted).untilOffered('1.0.0');
    await restarted.stop();
    await database.replace('an empty one');

    await eventually('it is recognised', () => logLines(running.output(), FOREIGN).length > 0);
    const again = own(await restarted.restart());
    // A pod without a disk of its own knows what Redis has.
    const nodes = [running, again, await start()];
    for (const node of nodes) {
      await tenant.at(node).untilOffered('1.0.0');
      expect(await tenant.at(node).offered('0.9.0', { device: 'device-during' })).toBe('1.0.0');
      await untilStatus(tenant.at(node), 'no-such-channel', 503);
      await untilStatus(tenant.with({ app: 'no-such-app' }).at(node), 'stable', 503);
      expect((await tenant.at(node).publish('1.1.0')).status).toBe(503);
      expect((await admin(node, 'POST', 'organizations', { name: 'New' })).status).toBe(503);
      await untilFigure(node, 'sluice_ledger_foreign', 1);
      expect((await send(node, 'GET', '/readyz')).status).toBe(200);
    }
    const tables = "SELECT relname FROM pg_class WHERE relname = 'channels'";
    expect(await database.query(tables)).toEqual([]);

    await database.restore();
    for (const node of nodes) {
      await untilFigure(node, 'sluice_ledger_foreign', 0);
      await untilStatus(tenant.at(node), 'no-such-channel', 404);
    }
    expect((await tenant.at(again).publish('1.1.0')).status).toBe(201);
    for (const node of nodes) await tenant.at(node).untilOffered('1.1.0');
    await tenant.at(running).untilRecorded('device-during');
    expect(await metricsOf(running)).toContain('sluice_check_ins_total{outcome="dropped"} 0');
    // Each process tells it once a minute in each of a few words, and not with every call.
    const times = logLines(running.output(), FOREIGN).map(({ time }) => Date.parse(String(time)));
    const minutes = 1 + Math.floor((Math.max(...times) - Math.min(...times)) / 60_000);
    expect(times.length).toBeLessThanOrEqual(10 * minutes);
  });

  it('a database that knows some of the channels is the record: one that it lacks is unknown, told and counted', async () => {
    await database.query(`BEGIN;
        SET LOCAL session_replication_role = replica;
        DELETE FROM channels WHERE app_id = '${lost.appId}';
        DELETE FROM apps WHERE id = '${lost.appId}'; COMMIT`);
    await untilStatus(lost.at(running), 'stable', 404);
    expect(await tenant.at(running).offered()).toBe('1.1.0');
    const lines = logLines(running.output(), 'the ledger has lost channels');
    expect(lines).toMatchObject([{ level: 'error', count: 2 }]);
    expect(lines[0]?.channels).toContain(`${lost.app}/stable`);
    await untilFigure(running, 'sluice_ledger_rewinds_total{event="channel-lost"}', 2);
    await running.stop();

    // The copies on disk and in Redis are gone as well.
    running = await running.restart({ DATABASE_URL: NOWHERE });
    await tenant.at(running).untilOffered('1.1.0');
    expect((await lost.at(running).check('0.9.0')).status).toBe(503);
    await running.stop();
    running = await running.restart({ DATABASE_URL: database.url });
  });

  it('a node on the Redis of another serves its own database, leaves it alone, and uses its own once it is there', async () => {
    const otherDatabase = own(await migratedDatabase(inject('postgresUrl')));
    const otherRedis = own(await startRedis());
    const theirs = await start({ DATABASE_URL: otherDatabase.url, REDIS_URL: otherRedis.url });
    const theirTenant = await createNamed(theirs, APP);
    await theirTenant.publish('9.0.0');
    await theirTenant.untilOffered('9.0.0');

    const way = own(await startProxy(otherRedis.port));
    const node = await start({ REDIS_URL: `redis://127.0.0.1:${way.port}` });
    await tenant.at(node).untilOffered('1.1.0');
    await untilFigure(node, 'sluice_engine_foreign', 1);
    expect(await metricsOf(node)).toContain('sluice_ledger_foreign 0');
    expect(node.output()).toContain('Redis is of another record');
    await expect
      .poll(async () => (await send(node, 'GET', '/readyz')).body?.degraded)
      .toMatchObject([
        { store: 'engine', message: expect.stringContaining('is of another record') },
      ]);
    // It takes nothing out of the Redis of the others.
    await theirTenant.check('0.9.0', { device: 'theirs' });
    await theirTenant.untilRecorded('theirs');

    way.moveTo(redis.port);
    await untilFigure(node, 'sluice_engine_foreign', 0);
    way.moveTo(otherRedis.port);
    await untilFigure(node, 'sluice_engine_foreign', 1);
    await tenant.at(running).publish('1.2.0');
    await tenant.at(node).untilOffered('1.2.0');
    // With what it has on disk it knows whose it is without its database.
    await node.stop();
    const alone = own(await node.restart({ DATABASE_URL: NOWHERE }));
    await tenant.at(alone).untilOffered('1.2.0');
    await untilFigure(alone, 'sluice_engine_foreign', 1);
  });
});

it('an embedded database that was emptied is not made anew: the start says what to do', async () => {
  const node = own(await startNode());
  const tenant = await createTenant(node, ['1.0.0']);
  await tenant.untilOffered('1.0.0');
  await node.stop();
  rmSync(join(node.dataDir, 'ledger'), { recursive: true });
  await expect(node.restart()).rejects.toThrow(/DATA_DIR: .* there is no database in .*ledger/);
  for (const name of ['ledger.used', 'snapshots']) {
    rmSync(join(node.dataDir, name), { recursive: true });
  }
  const anew = own(await node.restart());
  expect((await tenant.at(anew).check('0.9.0')).status).toBe(404);
});

function untilStatus(tenant: Tenant, channel: string, status: number): Promise<void> {
  return eventually(
    `${tenant.app}/${channel} is ${status}`,
    async () => (await tenant.check('0.9.0', { channel })).status === status,
  );
}

function untilFigure(node: ServingNode, name: string, value: number): Promise<void> {
  return eventually(`${name} is ${value}`, async () => {
    return (await metricsOf(node)).includes(`\n${name} ${value}\n`);
  });
}
