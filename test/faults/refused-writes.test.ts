// Tests stores that answer reads and refuse writes: `/readyz`, a metric and the log tell it without any
// publisher, until they take writes again; devices are served meanwhile.

import { Redis } from 'ioredis';
import { describe, expect, inject, it } from 'vitest';
import { logLines } from '../support/admin-address.ts';
import { describeOnRealStores } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { figureOf, metricsOf } from '../support/metrics.ts';
import { migratedDatabase } from '../support/migrated-database.ts';
import { type ServingNode, startNode } from '../support/node.ts';
import { type Owner, own } from '../support/own.ts';
import { startPostgres } from '../support/postgres-server.ts';
import { startRedis } from '../support/redis-server.ts';
import { runOn } from '../support/run-on.ts';
import { startProxy } from '../support/tcp-proxy.ts';
import { createTenant, send, type Tenant } from '../support/tenant.ts';

const READ_ONLY = 'refuses writes: it is read-only, or a standby';
const REFUSED = `Temporarily unavailable, try again shortly: PostgreSQL ${READ_ONLY}`;
const NOTHING_CHANGES = 'known channels are served, nothing can be changed';
const CHECK_INS_WAIT = 'check-ins wait in the processes, limits count per process';

// Side by side, for they wait more than they work: each has a node and stores of its own.
describe.concurrent('a store that takes no writes', () => {
  describeOnRealStores('a PostgreSQL that takes no writes', () => {
    it('read-only by a setting, degrades a node that no one publishes on, and loses no check-in', async (test) => {
      const database = own(await migratedDatabase(inject('postgresUrl')), test);
      const { node, tenant } = await serve(database.url, test);
      const set = async (value: string) => {
        const name = new URL(database.url).pathname.slice(1);
        const server = inject('postgresUrl');
        await runOn(server, `ALTER DATABASE ${name} SET default_transaction_read_only = ${value}`);
        // It is true of connections that begin now.
        const open = `SELECT pid FROM pg_stat_activity WHERE datname = '${name}'`;
        await runOn(server, `SELECT pg_terminate_backend(pid) FROM (${open}) AS open`);
      };
      await set('on');
      await untilTold(node, 'ledger', `PostgreSQL ${READ_ONLY}: ${NOTHING_CHANGES}`);
      await expectRefused(tenant.at(node));
      await set('off');
      await untilToldNoMore(node);
      expect((await tenant.at(node).publish('2.0.0')).status).toBe(201);
      await tenant.at(node).untilRecorded('meanwhile');
    });

    it('because the primary was demoted, degrades a node until the address leads to a primary', async (test) => {
      const primary = own(await startPostgres(), test);
      const way = own(await startProxy(primary.port), test);
      const url = `postgres://postgres@127.0.0.1:${way.port}/postgres`;
      const { node, tenant } = await serve(url, test);
      const standby = own(await primary.startStandby(), test);
      await standby.catchUp();
      way.moveTo(standby.port);
      // A standby is not examined, so that nothing is asked of it: it counts as lost.
      const message = `PostgreSQL is a standby, which refuses writes: ${NOTHING_CHANGES}`;
      await eventually('it is told', async () => {
        return (await degradedOf(node)).some((each) => each.message === message);
      });
      await eventually('the metric tells it', async () => {
        return (await metricsOf(node)).includes('sluice_store_up{store="ledger"} 0');
      });
      expect(await tenant.at(node).offered('0.9.0', { device: 'd' })).toBe('1.0.0');
      await standby.promote();
      await untilToldNoMore(node);
      expect((await tenant.at(node).publish('2.0.0')).status).toBe(201);
    });
  });

  describeOnRealStores('a Redis that takes no writes', () => {
    it('because its memory is full or it is a replica, degrades a node, and loses no check-in', async (test) => {
      const database = own(await migratedDatabase(inject('postgresUrl')), test);
      const { node, tenant, redisUrl } = await serve(database.url, test);
      const admin = new Redis(redisUrl);
      test.onTestFinished(() => admin.disconnect());
      for (const [why, refuse, take] of [
        [
          'has no memory left',
          () => admin.config('SET', 'maxmemory', '1'),
          () => admin.config('SET', 'maxmemory', '0'),
        ],
        [READ_ONLY, () => admin.replicaof('127.0.0.1', '1'), () => admin.replicaof('NO', 'ONE')],
      ] as const) {
        await refuse();
        await untilTold(node, 'engine', `Redis ${why}: ${CHECK_INS_WAIT}`);
        const answer = await tenant.at(node).check('0.9.0', { device: why.slice(0, 10) });
        expect(answer.body?.version).toBe('1.0.1');
        expect((await tenant.at(node).publish(`0.1.${why.length}`)).status).toBe(201);
        await take();
        await untilToldNoMore(node);
        await tenant.at(node).untilRecorded(why.slice(0, 10));
      }
    });
  });
});

/** Starts a node with a Redis of its own, which has offered a release. */
async function serve(databaseUrl: string, test: Owner) {
  const redis = own(await startRedis(), test);
  const node = own(await startNode({ DATABASE_URL: databaseUrl, REDIS_URL: redis.url }), test);
  const tenant = await createTenant(node, ['1.0.0']);
  await tenant.untilOffered('1.0.0', { device: 'before' });
  await tenant.publish('1.0.1');
  return { node, tenant, redisUrl: redis.url };
}

type Degraded = readonly { readonly store: string; readonly message: string }[];

async function degradedOf(node: ServingNode): Promise<Degraded> {
  const { status, body } = await send(node, 'GET', '/readyz');
  expect(status).toBe(200);
  return (body?.degraded ?? []) as Degraded;
}

function refusing(node: ServingNode, store: string): Promise<number> {
  return figureOf(node, `sluice_store_refusing_writes{store="${store}"}`);
}

async function untilTold(node: ServingNode, store: string, message: string): Promise<void> {
  await eventually(`it is told: ${message}`, async () => {
    return (await degradedOf(node)).some(
      (each) => each.store === store && each.message === message,
    );
  });
  await eventually('the metric tells it', async () => (await refusing(node, store)) > 0);
  expect(await metricsOf(node)).toContain(`sluice_store_up{store="${store}"} 1`);
}

/** Waits until no store refuses writes; each process has then logged the begin and the end once. */
async function untilToldNoMore(node: ServingNode): Promise<void> {
  await eventually('nothing is told any more', async () => {
    const stores = ['ledger', 'engine'].map((store) => refusing(node, store));
    const isRefusing = (await Promise.all(stores)).some((count) => count > 0);
    return !isRefusing && (await degradedOf(node)).length === 0;
  });
  const countOf = (message: string) => logLines(node.output(), `"${message}"`).length;
  // The log of a process reaches the tests a moment after its answers.
  await eventually('each end is logged', () => {
    return countOf('store takes writes again') === countOf('store refuses writes');
  });
}

/** Expects that publishers are refused with the reason, and that devices are served. */
async function expectRefused(tenant: Tenant): Promise<void> {
  const refused = { status: 503, body: { error: REFUSED } };
  expect(await tenant.publish('3.0.0')).toMatchObject(refused);
  expect(await tenant.control('1.0.0', { status: 'paused' })).toMatchObject(refused);
  const device = { deviceId: 'd', platform: 'linux', arch: 'x86_64', version: '1.0.0' };
  expect(await tenant.report([device])).toMatchObject(refused);
  // The newer release was never offered, and its first offer cannot be recorded.
  const { status, body } = await tenant.check('0.9.0', { device: 'meanwhile' });
  expect([status, body?.version]).toEqual([200, '1.0.0']);
}
