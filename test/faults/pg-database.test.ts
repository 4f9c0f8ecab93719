// Tests the behaviour of PostgreSQL only: several connections, several nodes, and a server that goes away.

import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from 'vitest';
import { Unavailable } from '../../src/contract/store-fault.ts';
import type { Database } from '../../src/store/ledger/database/database.ts';
import { BASELINE, migrate } from '../../src/store/ledger/database/migrate.ts';
import { openPgDatabase } from '../../src/store/ledger/database/pg-database.ts';
import { openLedger } from '../../src/store/ledger/open-ledger.ts';
import type { Ledger } from '../../src/store/ledger.ts';
import type { LedgerReport } from '../../src/store/ledger-identity.ts';
import { createTenant, OPERATOR, publish } from '../store/ledger/ledger-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { type FreshDatabase, freshDatabase } from '../support/fresh-database.ts';
import { KeptReport, ledgerOptions, TestMemory } from '../support/ledger-options.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { runOn } from '../support/run-on.ts';
import { settlesWithin } from '../support/settles-within.ts';
import { startProxy } from '../support/tcp-proxy.ts';

const postgresUrl = inject('postgresUrl');
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
    expect(applied.length).toBeGreaterThanOrEqual(2);
    expect(applied).toEqual(applied.map((_, index) => ({ id: BASELINE + index })));
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

  test.concurrent('a node outwaits a migration of another that takes longer than any statement may', async () => {
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

  test.concurrent('a statement that takes too long is unavailable, and its connection is still good', async () => {
    const database = open();
    await expect(database.query('SELECT pg_sleep(60)')).rejects.toBeInstanceOf(Unavailable);
    expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  test('more calls than connections wait for their turn', async () => {
    const database = open();
    const rows = await Promise.all(
      Array.from({ length: 60 }, () => database.query('SELECT pg_sleep(0.02)')),
    );
    expect(rows).toHaveLength(60);
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

  test('a first offer is one round trip', async () => {
    const proxy = await startProxy(Number(new URL(fresh.url).port));
    const url = Object.assign(new URL(fresh.url), { port: String(proxy.port) }).href;
    const ledger = await openLedger({
      databaseUrl: url,
      dataDir: '/nonexistent',
      ...ledgerOptions(),
    });
    const tenant = await createTenant(ledger);
    const { value, changed } = await publish(ledger, tenant, '1.0.0');
    let answers = 0;
    proxy.dropWhen((chunk) => {
      answers += chunk.toString('latin1').split('Z\0\0\0\x05').length - 1;
      return false;
    });
    const order = { epoch: 0, revision: 2 };
    expect(await ledger.recordFirstOffer(changed[0]?.channelId ?? '', value.id, order)).toBe(true);
    expect(answers).toBe(1);
    await ledger.close();
    await proxy.close();
  });

  test('of several hosts one that is silent is passed over, and the next call finds the one that answers', async () => {
    const { port, pathname } = new URL(fresh.url);
    const silent = await startProxy(Number(port));
    silent.blackhole();
    const ports = [await freePort(), silent.port, port];
    const hosts = ports.map((each) => `127.0.0.1:${each}`).join(',');
    const url = `postgres://postgres@${hosts}${pathname}?target_session_attrs=read-write`;
    const database = openPgDatabase({ url, onFault: () => undefined });
    opened.push(database);
    const first = await Promise.allSettled(
      Array.from({ length: 25 }, () => database.query('SELECT 1 AS one')),
    );
    for (const outcome of first) {
      if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(Unavailable);
    }
    expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await silent.close();
  });

  test('a database that does not exist stops the start; so does a schema that is newer', async () => {
    const url = new URL(fresh.url);
    url.pathname = '/no_such_database';
    const options = { dataDir: '/nonexistent', ...ledgerOptions() };
    await expect(openLedger({ databaseUrl: url.href, ...options })).rejects.toMatchObject({
      detail: expect.stringContaining('no_such_database'),
    });
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
      'migration baseline failed and was rolled back: relation "accounts" already exists';
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
    await expect(call).rejects.toBeInstanceOf(Unavailable);
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
    const calls = Array.from({ length: 25 }, () => ledger.readSnapshot(tenant.app, 'stable'));
    for (const outcome of await Promise.allSettled(calls)) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { name: 'Unavailable' } });
    }
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
    await eventually('it is reachable', () => ledger.isReachable());
  });

  test('away for good: closing does not wait for it', async () => {
    await server.kill();
    const ledger = await open();
    await ledger.close();
    await server.restart();
  });
});
