// Tests nodes behind a real PgBouncer that pools transactions and is set to nothing else. It refuses settings
// at the start of a session, and gives each transaction another session of the server: what a session would
// have to keep is lost. The limits that protect the database must hold all the same.

import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { Unavailable } from '../../src/contract/store-fault.ts';
import { openPgDatabase } from '../../src/store/ledger/database/pg-database.ts';
import { openLedger } from '../../src/store/ledger/open-ledger.ts';
import type { Ledger } from '../../src/store/ledger.ts';
import * as records from '../store/ledger/ledger-fixture.ts';
import { eventually, sleep } from '../support/eventually.ts';
import { freshDatabase } from '../support/fresh-database.ts';
import { ledgerOptions } from '../support/ledger-options.ts';
import { type ServingNode, startNode } from '../support/node.ts';
import { findPgBouncer, type PgBouncer, startPgBouncer } from '../support/pgbouncer.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { queryOn } from '../support/replaceable-database.ts';
import { check, control, createTenant, devicesOf, publish } from '../support/tenant.ts';

/** Promised time until every node serves the ledger's state, in milliseconds. */
const PROMISE_MS = 5000;

const isPossible =
  findPgBouncer() !== undefined && inject('postgresUrl') !== '' && inject('redisUrl') !== '';
const title = isPossible
  ? 'behind PgBouncer in transaction mode'
  : 'behind PgBouncer (skipped: no PgBouncer, PostgreSQL or Redis on this machine)';
/** Longest time until a call fails: the limits of connecting and of answering together stay below it. */
const UNAVAILABLE_WITHIN_MS = 9000;
/** Longer than the limits of the server, 4.5 s for a statement and 5 s for an idle transaction. */
const LIMITS_OVER_MS = 5500;

describe.skipIf(!isPossible)(title, () => {
  let postgres: PostgresServer;
  let redis: RedisServer;
  let bouncer: PgBouncer;
  const endings: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
    bouncer = await startPgBouncer(postgres.port);
  });
  afterEach(async () => {
    postgres.resume();
    for (const end of endings.splice(0).reverse()) await end();
  });
  afterAll(() => Promise.all([bouncer?.stop(), postgres?.stop(), redis?.stop()]));

  async function emptyDatabase(): Promise<string> {
    const { url } = await freshDatabase(postgres.url);
    return bouncer.through(url);
  }

  async function startOn(databaseUrl: string): Promise<ServingNode> {
    const node = await startNode({ DATABASE_URL: databaseUrl, REDIS_URL: redis.url });
    endings.push(() => node.dispose());
    return node;
  }

  async function openOn(databaseUrl: string): Promise<Ledger> {
    const ledger = await openLedger({ databaseUrl, dataDir: '/nonexistent', ...ledgerOptions() });
    endings.push(() => ledger.close());
    return ledger;
  }

  it('two nodes start and migrate at once, serve, take changes and record devices', async () => {
    const url = await emptyDatabase();
    const [one, other] = await Promise.all([startOn(url), startOn(url)]);
    const tenant = await createTenant(one);
    expect((await publish(one, tenant, '1.0.0')).status).toBe(201);
    expect((await publish(other, tenant, '1.1.0', { rollout: 50 })).status).toBe(201);
    for (const node of [one, other]) {
      await eventually('a device is offered 1.1.0', async () => {
        const answers = await Promise.all(
          Array.from({ length: 10 }, (_, index) =>
            check(node, tenant, '0.9.0', { device: `device-${index}` }),
          ),
        );
        return answers.some(({ body }) => body?.version === '1.1.0');
      });
    }
    // It was offered, which the other node must know.
    expect((await control(other, tenant, '1.1.0', { rollout: 10 })).status).toBe(422);
    expect((await control(one, tenant, '1.1.0', { status: 'paused' })).status).toBe(200);
    await eventually('the other node serves 1.0.0', async () => {
      const { body } = await check(other, tenant, '0.9.0', { device: 'device-1' });
      if (body?.version === '1.0.0') return true;
      // A device may ask 120 times in a minute.
      await sleep(100);
      return false;
    });
    await eventually('all devices are on record', async () => {
      return (await devicesOf(one, tenant)).length === 10;
    });
    const pools = await bouncer.show('SHOW POOLS');
    expect(pools.map(({ pool_mode }) => pool_mode)).toContain('transaction');
    expect(`${one.output()}${other.output()}`).not.toContain('unsupported startup parameter');
  });

  it('the server cancels what takes too long, and ends who stalls in a transaction', async () => {
    const url = await emptyDatabase();
    const database = openPgDatabase({ url, onFault: () => undefined });
    endings.push(() => database.close());
    const slow = async () => {
      const start = performance.now();
      await expect(database.query('SELECT pg_sleep(60)')).rejects.toBeInstanceOf(Unavailable);
      expect(performance.now() - start).toBeLessThan(UNAVAILABLE_WITHIN_MS);
    };
    const slowInTransaction = () =>
      expect(
        database.transaction((sql) => sql.query('SELECT pg_sleep(60) AS "again"')),
      ).rejects.toBeInstanceOf(Unavailable);
    const stalled = () =>
      expect(
        database.transaction(async (sql) => {
          await sql.query('SELECT 1');
          await sleep(LIMITS_OVER_MS);
          await sql.query('SELECT 2');
        }),
      ).rejects.toBeInstanceOf(Unavailable);
    await Promise.all([slow(), slowInTransaction(), stalled()]);
    const running = await queryOn(
      postgres.url,
      `SELECT query FROM pg_stat_activity WHERE query LIKE '%pg_sleep(60)%' AND state = 'active'
        AND pid <> pg_backend_pid()`,
    );
    expect(running).toEqual([]);
    // The limits end with the transactions, because another client may get the session.
    const [rest] = await queryOn(url, "SELECT current_setting('statement_timeout') AS limit");
    expect(rest).toEqual({ limit: '0' });
    expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('a frozen PostgreSQL is unavailable within the limit, and used again once it goes on', async () => {
    const ledger = await openOn(await emptyDatabase());
    const tenant = await records.createTenant(ledger);
    postgres.pause();
    const start = performance.now();
    const calls = Array.from({ length: 25 }, () => ledger.readSnapshot(tenant.app, 'stable'));
    for (const outcome of await Promise.allSettled(calls)) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { name: 'Unavailable' } });
    }
    expect(performance.now() - start).toBeLessThan(UNAVAILABLE_WITHIN_MS);
    postgres.resume();
    await eventually('it is reachable', () => ledger.isReachable());
    await records.publish(ledger, tenant, '1.0.0');
  });

  it('turned to a standby that lacked the last commits, every node is at the record within 5 s', async () => {
    // Nothing asks anew where connections lead that stay: states that differ are what tells.
    const standby = await postgres.startStandby();
    endings.push(() => standby.stop());
    // Redis remembers the channels of the test before, which this database does not have.
    await redis.restart();
    const url = await emptyDatabase();
    const nodes = await Promise.all([startOn(url), startOn(url)]);
    const [one, other] = nodes;
    const tenant = await createTenant(one);
    let asked = 0;
    const untilOffered = async (version: string) => {
      for (const node of nodes) {
        await eventually(`${version} is offered`, async () => {
          // Each time another device, because one may ask 120 times in a minute.
          const device = `waiting-${++asked}`;
          return (await check(node, tenant, '0.9.0', { device })).body?.version === version;
        });
      }
    };

    await publish(one, tenant, '1.0.0');
    await untilOffered('1.0.0');
    await standby.catchUp();
    await standby.stopFollowing();
    await publish(one, tenant, '1.1.0');
    await untilOffered('1.1.0');
    await standby.promote();
    const movedAt = performance.now();
    await bouncer.moveTo(standby.port);
    await untilOffered('1.0.0');
    const rightMs = Math.round(performance.now() - movedAt);
    console.info(`fail-over behind PgBouncer: all right after ${rightMs} ms`);
    expect(rightMs).toBeLessThan(PROMISE_MS);

    expect((await publish(other, tenant, '1.2.0')).status).toBe(201);
    await untilOffered('1.2.0');
    expect(nodes.filter(hasRaisedTheEpoch)).toHaveLength(1);
  });
});

function hasRaisedTheEpoch(node: ServingNode): boolean {
  return node.output().includes('the ledger went back or moved');
}
