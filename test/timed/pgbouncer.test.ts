// Tests nodes behind a real PgBouncer that pools transactions, set as pgbouncer.ts says. It refuses settings
// at the start of a session, and gives each transaction another session of the server: what a session would
// have to keep is lost. The limits that protect the database, and the promised times, must hold all the same.

import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { Unavailable } from '../../src/contract/store-fault.ts';
import { openPgDatabase } from '../../src/store/ledger/database/pg-database.ts';
import { eventually, sleep } from '../support/eventually.ts';
import { freshDatabase } from '../support/fresh-database.ts';
import { FULL_ONLY, IS_FULL } from '../support/full-run.ts';
import { startNode } from '../support/node.ts';
import { own } from '../support/own.ts';
import { findPgBouncer, type PgBouncer, startPgBouncer } from '../support/pgbouncer.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { runOn } from '../support/run-on.ts';
import { createTenant } from '../support/tenant.ts';

/** Promised time until every node serves the ledger's state, in milliseconds. */
const PROMISE_MS = 5000;

const isPossible =
  findPgBouncer() !== undefined && inject('postgresUrl') !== '' && inject('redisUrl') !== '';
const title = isPossible
  ? `behind PgBouncer in transaction mode${FULL_ONLY}`
  : 'behind PgBouncer (skipped: no PgBouncer, PostgreSQL or Redis on this machine)';
/** Longest time until a call fails: the limits of connecting and of answering together stay below it. */
const UNAVAILABLE_WITHIN_MS = 9000;
/** Longer than the limits of the server, 4.5 s for a statement and 5 s for an idle transaction. */
const LIMITS_OVER_MS = 5500;

describe.skipIf(!isPossible || !IS_FULL)(title, () => {
  let postgres: PostgresServer;
  let redis: RedisServer;
  let bouncer: PgBouncer;
  let url: string;

  beforeAll(async () => {
    [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
    bouncer = await startPgBouncer(postgres.port);
    url = bouncer.through((await freshDatabase(postgres.url)).url);
  });
  afterAll(() => Promise.all([bouncer?.stop(), postgres?.stop(), redis?.stop()]));

  it('the server cancels what takes too long, and ends who stalls in a transaction', async () => {
    const database = own(openPgDatabase({ url, onFault: () => undefined }));
    const began = performance.now();
    const calls = [
      database.query('SELECT pg_sleep(60)'),
      database.transaction((sql) => sql.query('SELECT pg_sleep(60) AS "again"')),
      database.transaction(async (sql) => {
        await sql.query('SELECT 1');
        await sleep(LIMITS_OVER_MS);
        await sql.query('SELECT 2');
      }),
    ];
    for (const outcome of await Promise.allSettled(calls)) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(Unavailable) });
    }
    expect(performance.now() - began).toBeLessThan(UNAVAILABLE_WITHIN_MS);
    const running = await runOn(
      postgres.url,
      `SELECT query FROM pg_stat_activity WHERE query LIKE '%pg_sleep(60)%' AND state = 'active'
        AND pid <> pg_backend_pid()`,
    );
    expect(running).toEqual([]);
    // The limits end with the transactions, because another client may get the session.
    const [rest] = await runOn(url, "SELECT current_setting('statement_timeout') AS limit");
    expect(rest).toEqual({ limit: '0' });
    expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('two nodes start and migrate at once, serve, take changes, record devices, and follow a fail-over within 5 s', async () => {
    const startOne = async () => {
      return own(await startNode({ DATABASE_URL: url, REDIS_URL: redis.url }));
    };
    const nodes = await Promise.all([startOne(), startOne()]);
    const [one, other] = nodes;
    const tenant = await createTenant(one);
    let asked = 0;
    const untilOffered = async (version: string) => {
      for (const node of nodes) {
        await eventually(`${version} is offered`, async () => {
          // Each time another device, because one may ask 120 times in a minute.
          const device = `waiting-${++asked}`;
          return (await tenant.at(node).offered('0.9.0', { device })) === version;
        });
      }
    };
    expect((await tenant.publish('1.0.0')).status).toBe(201);
    expect((await tenant.at(other).publish('1.1.0', { rollout: 50 })).status).toBe(201);
    await untilOffered('1.1.0');
    // It was offered, which the other node must know.
    expect((await tenant.at(other).control('1.1.0', { rollout: 10 })).status).toBe(422);
    expect((await tenant.control('1.1.0', { status: 'paused' })).status).toBe(200);
    await untilOffered('1.0.0');
    await eventually('devices of both are on record', async () => {
      return (await tenant.devices()).length > 1;
    });
    const pools = await bouncer.show('SHOW POOLS');
    expect(pools.map(({ pool_mode }) => pool_mode)).toContain('transaction');
    const output = nodes.map((node) => node.output()).join('');
    expect(output).not.toContain('unsupported startup parameter');

    // Turned to a standby that lacks the last commits. Nothing asks anew where connections lead that stay:
    // states that differ are what tells.
    const standby = own(await postgres.startStandby());
    await standby.catchUp();
    await standby.stopFollowing();
    await tenant.publish('1.2.0');
    await untilOffered('1.2.0');
    await standby.promote();
    const movedAt = performance.now();
    await bouncer.moveTo(standby.port);
    await untilOffered('1.0.0');
    const rightMs = Math.round(performance.now() - movedAt);
    console.info(`fail-over behind PgBouncer: all right after ${rightMs} ms`);
    expect(rightMs).toBeLessThan(PROMISE_MS);
    expect((await tenant.at(other).publish('1.3.0')).status).toBe(201);
    await untilOffered('1.3.0');
    const raised = nodes.filter((node) => node.output().includes('the ledger went back or moved'));
    expect(raised).toHaveLength(1);
  });
});
