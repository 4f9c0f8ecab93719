// Tests the behaviour of PostgreSQL only: several connections, several nodes, and a server that goes away.

import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { isFailure } from '../../src/contract/failure.ts';
import { applyServingChange } from '../../src/domain/release/serving-change.ts';
import type { Database, Sql } from '../../src/ledger/database.ts';
import { migrate } from '../../src/ledger/migrate.ts';
import { openLedger } from '../../src/ledger/open-ledger.ts';
import { openPgDatabase } from '../../src/ledger/pg-database.ts';
import { createSqlLedger } from '../../src/ledger/sql-ledger.ts';
import type { Ledger } from '../../src/ports/ledger.ts';
import type { LedgerReport } from '../../src/ports/ledger-report.ts';
import { LockedTooLong, Unavailable } from '../../src/ports/unavailable.ts';
import {
  createTenant,
  OPERATOR,
  publish,
  readStable,
  serve,
  type TestTenant,
} from '../ledger/ledger-fixture.ts';
import { eventually, sleep } from '../support/eventually.ts';
import { type FreshDatabase, freshDatabase } from '../support/fresh-database.ts';
import { KeptReport, ledgerOptions, TestMemory } from '../support/ledger-options.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { runOn } from '../support/run-on.ts';

const postgresUrl = inject('postgresUrl');
/** Longest time until a call fails: the limits of connecting and of answering together stay below it. */
const UNAVAILABLE_WITHIN_MS = 9000;
/** Longer than any statement of the service may take, which is 5 s. */
const LONGER_THAN_STATEMENTS_MS = 6000;
const title = (rest: string) =>
  postgresUrl === '' ? `${rest} (skipped: no PostgreSQL on this machine)` : rest;

describe.skipIf(postgresUrl === '')(title('several nodes on one PostgreSQL'), () => {
  let fresh: FreshDatabase;
  const opened: Database[] = [];

  function open(): Database {
    const database = openPgDatabase({ url: fresh.url, onFault: () => undefined });
    opened.push(database);
    return database;
  }

  beforeAll(async () => {
    fresh = await freshDatabase(postgresUrl);
  });
  afterAll(async () => {
    await Promise.all(opened.map((database) => database.close()));
    await fresh?.drop();
  });

  test('8 nodes that migrate an empty database at once all succeed, and each step runs once', async () => {
    const empty = await freshDatabase(postgresUrl);
    const nodes = await Promise.all(
      Array.from({ length: 8 }, () =>
        openLedger({
          databaseUrl: empty.url,
          dataDir: '/nonexistent',
          ...ledgerOptions(),
        }),
      ),
    );
    expect(await Promise.all(nodes.map((node) => node.isReachable()))).not.toContain(false);
    await Promise.all(nodes.map((node) => node.createOrganization('Acme', OPERATOR)));
    await Promise.all(nodes.map((node) => node.close()));
    const applied = await runOn<{ id: number }>(empty.url, 'SELECT id FROM sluice_migrations');
    expect(applied.length).toBeGreaterThanOrEqual(5);
    expect(applied).toEqual(applied.map((_, index) => ({ id: index + 1 })));
    await empty.drop();
  });

  test('no more connections are opened than DATABASE_POOL allows; other calls wait (Environment)', async () => {
    const database = openPgDatabase({
      url: fresh.url,
      connectionsMax: 5,
      onFault: () => undefined,
    });
    opened.push(database);
    const calls = Array.from({ length: 12 }, () => database.query('SELECT pg_sleep(0.3)'));
    await expect.poll(() => database.poolLoad()).toEqual({ busy: 5, idle: 0, waiting: 7 });
    await Promise.all(calls);
    expect(database.poolLoad()).toEqual({ busy: 0, idle: 5, waiting: 0 });
  });

  test('a node outwaits a migration of another that takes longer than any statement may', async () => {
    const { url, drop } = await freshDatabase(postgresUrl);
    const other = new pg.Client({ connectionString: url });
    await other.connect();
    await other.query('SELECT pg_advisory_lock(7583492)');
    const database = openPgDatabase({ url, onFault: () => undefined });
    const migrated = migrate(database);
    expect(await settlesWithin(migrated, LONGER_THAN_STATEMENTS_MS)).toBe(false);
    await other.end();
    await migrated;
    await database.close();
    await drop();
  });

  describe('a first offer and a serving change on two connections', () => {
    let changing: Database;
    let offering: Ledger;

    beforeAll(async () => {
      changing = open();
      await migrate(changing);
      offering = createSqlLedger(open());
    });

    async function published() {
      const tenant = await createTenant(offering);
      const { value, changed } = await publish(offering, tenant, '1.0.0', { rolloutPct: 50 });
      const channelId = changed[0]?.channelId ?? '';
      return {
        tenant,
        releaseId: value.id,
        channelId,
        record: () => offering.recordFirstOffer(channelId, value.id, { epoch: 0, revision: 2 }),
      };
    }

    /** A serving change that holds its locks until the test says how it ends. */
    function holdChange(channelId: string) {
      const gate = createGate<'commit' | 'rollback'>();
      const locked = createGate<void>();
      const ended = changing.transaction(async (sql) => {
        await lowerRollout(sql, channelId);
        locked.resolve();
        if ((await gate.promise) === 'rollback') throw new Error('rolled back');
      });
      return { locked: locked.promise, end: gate.resolve, ended };
    }

    async function lowerRollout(sql: Sql, channelId: string): Promise<void> {
      await sql.query('SELECT FROM channels WHERE id = $1 FOR UPDATE', [channelId]);
      await sql.query('UPDATE releases SET rollout_pct = 10 WHERE channel_id = $1', [channelId]);
      await sql.query('UPDATE channels SET revision = revision + 1 WHERE id = $1', [channelId]);
    }

    async function releaseOf(tenant: TestTenant) {
      return (await readStable(offering, tenant)).releases[0];
    }

    test('an offer that waited for a change that committed is not recorded', async () => {
      const { tenant, channelId, record } = await published();
      const change = holdChange(channelId);
      await change.locked;
      const recorded = record();
      expect(await settlesWithin(recorded, 200)).toBe(false);
      change.end('commit');
      await change.ended;
      expect(await recorded).toBe(false);
      expect(await releaseOf(tenant)).toMatchObject({ offered: false, rolloutPct: 10 });
    });

    test('an offer that waited for a change that was rolled back is recorded', async () => {
      const { tenant, channelId, record } = await published();
      const change = holdChange(channelId);
      await change.locked;
      const recorded = record();
      expect(await settlesWithin(recorded, 200)).toBe(false);
      change.end('rollback');
      await expect(change.ended).rejects.toThrow('rolled back');
      expect(await recorded).toBe(true);
      expect(await releaseOf(tenant)).toMatchObject({ offered: true, rolloutPct: 50 });
    });

    test.each(['commit', 'rollback'] as const)(
      'a change that waited for an offer sees it exactly when it is durable (%s)',
      async (ending) => {
        const { tenant, channelId, releaseId } = await published();
        const gate = createGate<void>();
        const held = createGate<void>();
        // The steps of a first offer, held open before its end.
        const offer = changing.transaction(async (sql) => {
          await sql.query('SELECT FROM channels WHERE id = $1 AND revision = 2 FOR SHARE', [
            channelId,
          ]);
          await sql.query('UPDATE releases SET offered_at = now() WHERE id = $1', [releaseId]);
          held.resolve();
          await gate.promise;
          if (ending === 'rollback') throw new Error('rolled back');
        });
        await held.promise;
        const seen: boolean[] = [];
        const change = serve(offering, tenant, '1.0.0', (serving) => {
          seen.push(serving.offered);
          return applyServingChange(serving, { rollout: 10 });
        });
        expect(await settlesWithin(change, 200)).toBe(false);
        expect(seen).toEqual([]);
        gate.resolve();
        await offer.catch(() => undefined);
        expect(isFailure(await change)).toBe(ending === 'commit');
        expect(seen).toEqual([ending === 'commit']);
        expect(await releaseOf(tenant)).toMatchObject(
          ending === 'commit'
            ? { offered: true, rolloutPct: 50 }
            : { offered: false, rolloutPct: 10 },
        );
      },
    );

    test.each(['commit', 'rollback'] as const)(
      'an offer that waited for another is true only once the mark is durable (%s)',
      async (ending) => {
        const { tenant, channelId, releaseId, record } = await published();
        const gate = createGate<void>();
        const held = createGate<void>();
        const first = changing.transaction(async (sql) => {
          await sql.query('SELECT FROM channels WHERE id = $1 AND revision = 2 FOR SHARE', [
            channelId,
          ]);
          await sql.query('UPDATE releases SET offered_at = now() WHERE id = $1', [releaseId]);
          held.resolve();
          await gate.promise;
          if (ending === 'rollback') throw new Error('rolled back');
        });
        await held.promise;
        const recorded = record();
        expect(await settlesWithin(recorded, 200)).toBe(false);
        gate.resolve();
        await first.catch(() => undefined);
        expect(await recorded).toBe(true);
        expect((await releaseOf(tenant))?.offered).toBe(true);
      },
    );

    test('a node that stalls in a transaction loses its locks; an offer does not wait for it', async () => {
      const { tenant, channelId, record } = await published();
      const change = holdChange(channelId);
      await change.locked;
      await expect(record()).rejects.toBeInstanceOf(LockedTooLong);
      expect(await releaseOf(tenant)).toMatchObject({ offered: false });
      await eventually('the stalled transaction was ended', () => record().catch(() => false));
      change.end('commit');
      await expect(change.ended).rejects.toBeInstanceOf(Unavailable);
    });
  });

  test('more calls than connections wait for their turn', async () => {
    const database = open();
    const rows = await Promise.all(
      Array.from({ length: 60 }, () => database.query('SELECT pg_sleep(0.02)')),
    );
    expect(rows).toHaveLength(60);
  });

  test('a statement that takes too long is unavailable, and its connection is still good', async () => {
    const database = open();
    const start = performance.now();
    await expect(database.query('SELECT pg_sleep(30)')).rejects.toBeInstanceOf(Unavailable);
    expect(performance.now() - start).toBeLessThan(UNAVAILABLE_WITHIN_MS);
    expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  test('a connection that the server ends in a transaction is unavailable; the next is fresh', async () => {
    const database = open();
    const work = database.transaction(async (sql) => {
      const rows = await sql.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      await runOn(fresh.url, `SELECT pg_terminate_backend(${rows[0]?.pid})`);
      await sql.query('SELECT 1');
    });
    await expect(work).rejects.toBeInstanceOf(Unavailable);
    expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  test('a fault of an idle connection is reported without the connection and its settings', async () => {
    const faults: unknown[] = [];
    const database = openPgDatabase({ url: fresh.url, onFault: (error) => faults.push(error) });
    const rows = await database.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    await runOn(fresh.url, `SELECT pg_terminate_backend(${rows[0]?.pid})`);
    await eventually('the fault was reported', () => faults.length > 0);
    expect(faults[0]).toMatchObject({ code: '57P01' });
    expect(faults[0]).not.toHaveProperty('client');
    expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await database.close();
  });

  test('a database that does not exist stops the start; so does a schema that is newer', async () => {
    const url = new URL(fresh.url);
    url.pathname = '/no_such_database';
    const options = { dataDir: '/nonexistent', ...ledgerOptions() };
    await expect(openLedger({ databaseUrl: url.href, ...options })).rejects.toThrow(
      'no_such_database',
    );
    const newer = await freshDatabase(postgresUrl);
    await (await openLedger({ databaseUrl: newer.url, ...options })).close();
    await runOn(newer.url, "INSERT INTO sluice_migrations (id, name) VALUES (900, 'later')");
    await expect(openLedger({ databaseUrl: newer.url, ...options })).rejects.toMatchObject({
      name: 'SchemaTooNew',
    });
    await newer.drop();
  });

  test('a migration that the database refuses is named, and changes nothing', async () => {
    const foreign = await freshDatabase(postgresUrl);
    await runOn(foreign.url, 'CREATE TABLE accounts (id integer)');
    const options = { dataDir: '/nonexistent', ...ledgerOptions() };
    const refusal =
      'migration 000004 failed and was rolled back: relation "accounts" already exists';
    for (const _attempt of [1, 2]) {
      await expect(openLedger({ databaseUrl: foreign.url, ...options })).rejects.toThrow(refusal);
    }
    await foreign.drop();
  });
});

test('an address that is none is refused without being repeated', () => {
  for (const url of ['postgres://u:secret@:x:y/db', 'postgres://u:secret@host:99999999/db']) {
    const open = () => openPgDatabase({ url, onFault: () => undefined });
    expect(open).toThrow('The database URL is not a valid PostgreSQL address');
    expect(open).not.toThrow('secret');
  }
});

describe.skipIf(postgresUrl === '')(title('a PostgreSQL that goes away'), () => {
  let server: PostgresServer;
  const ledgers: Ledger[] = [];

  async function open(report: LedgerReport = new KeptReport()): Promise<Ledger> {
    const options = { databaseUrl: server.url, dataDir: '/nonexistent' };
    const ledger = await openLedger({ ...options, memory: new TestMemory(), report });
    ledgers.push(ledger);
    return ledger;
  }

  async function expectUnavailable(call: Promise<unknown>): Promise<void> {
    const start = performance.now();
    await expect(call).rejects.toBeInstanceOf(Unavailable);
    expect(performance.now() - start).toBeLessThan(UNAVAILABLE_WITHIN_MS);
  }

  beforeAll(async () => {
    server = await startPostgres();
  });
  afterEach(async () => {
    server.resume();
    await Promise.all(ledgers.splice(0).map((ledger) => ledger.close()));
  });
  afterAll(() => server?.stop());

  test('killed: unavailable at once; back again: served again', async () => {
    const ledger = await open();
    const tenant = await createTenant(ledger);
    await server.kill();
    await expectUnavailable(ledger.readSnapshot(tenant.app, 'stable'));
    await expectUnavailable(publish(ledger, tenant, '1.0.0'));
    expect(await ledger.isReachable()).toBe(false);
    await server.restart();
    await eventually('it is reachable', () => ledger.isReachable());
    await publish(ledger, tenant, '1.0.0');
  });

  test('frozen: unavailable within the limit, in a new connection and in an old one', async () => {
    const ledger = await open();
    const tenant = await createTenant(ledger);
    server.pause();
    const start = performance.now();
    const calls = Array.from({ length: 25 }, () => ledger.readSnapshot(tenant.app, 'stable'));
    for (const outcome of await Promise.allSettled(calls)) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { name: 'Unavailable' } });
    }
    expect(performance.now() - start).toBeLessThan(UNAVAILABLE_WITHIN_MS);
    server.resume();
    await eventually('it is reachable', () => ledger.isReachable());
    await publish(ledger, tenant, '1.0.0');
  });

  test('away at the start: the ledger opens, is unavailable, and migrates once it is there', async () => {
    await server.kill();
    const ledger = await open();
    await expectUnavailable(ledger.createOrganization('Acme', OPERATOR));
    expect(await ledger.isReachable()).toBe(false);
    await server.restart();
    await eventually('it is reachable', () => ledger.isReachable());
    await createTenant(ledger);
  });

  test('away at the start and then of a newer schema: reported, and tried until it is not', async () => {
    await open();
    await runOn(server.url, "INSERT INTO sluice_migrations (id, name) VALUES (900, 'later')");
    await server.kill();
    const report = new KeptReport();
    const ledger = await open(report);
    await server.restart();
    await eventually('the failure was reported', () => report.refusals.length > 0);
    expect(report.refusals[0]).toMatchObject({ name: 'SchemaTooNew' });
    expect(await ledger.isReachable()).toBe(false);
    await runOn(server.url, 'DELETE FROM sluice_migrations WHERE id = 900');
    await eventually('it is reachable', () => ledger.isReachable(), 10_000);
  });

  test('away for good: closing does not wait for it', async () => {
    await server.kill();
    const ledger = await open();
    const start = performance.now();
    await ledger.close();
    expect(performance.now() - start).toBeLessThan(3000);
    await server.restart();
  });
});

/** A promise with its key: Node 20 has no `Promise.withResolvers`. */
function createGate<Value>() {
  let resolve: (value: Value) => void = () => undefined;
  const promise = new Promise<Value>((open) => {
    resolve = open;
  });
  return { promise, resolve };
}

async function settlesWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const settled = promise.then(
    () => true,
    () => true,
  );
  return Promise.race([settled, sleep(ms).then(() => false)]);
}
