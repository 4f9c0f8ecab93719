// Tests the behaviour of PostgreSQL only: several connections, several nodes, and a server that goes away.

import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest';
import { Unavailable } from '../../src/contract/store-fault.ts';
import type { Database } from '../../src/store/ledger/database/database.ts';
import { migrate } from '../../src/store/ledger/database/migrate.ts';
import { openPgDatabase } from '../../src/store/ledger/database/pg-database.ts';
import { openLedger } from '../../src/store/ledger/open-ledger.ts';
import type { Ledger } from '../../src/store/ledger.ts';
import type { LedgerReport } from '../../src/store/ledger-identity.ts';
import { createTenant, OPERATOR } from '../store/ledger/ledger-fixture.ts';
import { describeOnRealStores } from '../support/backend.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { type FreshDatabase, freshDatabase } from '../support/fresh-database.ts';
import { KeptReport, ledgerOptions, TestMemory } from '../support/ledger-options.ts';
import { own } from '../support/own.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { runOn } from '../support/run-on.ts';
import { settlesWithin } from '../support/settles-within.ts';
import { startProxy } from '../support/tcp-proxy.ts';

const postgresUrl = inject('postgresUrl');
/** Longer than any statement of the service may take, which is 5 s. */
const LONGER_THAN_STATEMENTS_MS = 6000;

describeOnRealStores('several nodes on one PostgreSQL', () => {
  let fresh: FreshDatabase;

  beforeAll(async () => {
    fresh = await freshDatabase(postgresUrl);
  });
  afterAll(() => fresh?.drop());

  test('a right that the account lost is unavailable, so that callers wait and drop nothing', async () => {
    const role = `plain_${Date.now()}`;
    await runOn(fresh.url, `CREATE TABLE denied (a integer); CREATE ROLE ${role} LOGIN`);
    const url = Object.assign(new URL(fresh.url), { username: role }).href;
    const database = own(openPgDatabase({ url, onFault: () => undefined }));
    const write = () => database.query('INSERT INTO denied VALUES (1)');
    await expect(write()).rejects.toBeInstanceOf(Unavailable);
    await runOn(fresh.url, `GRANT INSERT ON denied TO ${role}`);
    await write();
    await runOn(fresh.url, `DROP OWNED BY ${role}; DROP ROLE ${role}`);
  });

  test('no more connections are opened than DATABASE_POOL allows; other calls wait (Environment)', async () => {
    const options = { url: fresh.url, connectionsMax: 5, onFault: () => undefined };
    const database = own(openPgDatabase(options));
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
    const database = openPgDatabase({ url: fresh.url, onFault: () => undefined });
    await expect(database.query('SELECT pg_sleep(60)')).rejects.toBeInstanceOf(Unavailable);
    expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await database.close();
  });

  test('a connection that the server ends is unavailable, in use or idle; the next is fresh', async () => {
    const faults: unknown[] = [];
    const onFault = (error: unknown) => faults.push(error);
    const database = own(openPgDatabase({ url: fresh.url, onFault }));
    const end = async (sql: Pick<Database, 'query'>) => {
      const rows = await sql.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      await runOn(fresh.url, `SELECT pg_terminate_backend(${rows[0]?.pid})`);
    };
    const work = database.transaction(async (sql) => {
      await end(sql);
      await sql.query('SELECT 1');
    });
    await expect(work).rejects.toBeInstanceOf(Unavailable);
    expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
    // A fault of an idle one is reported without the connection and its settings.
    faults.length = 0;
    await end(database);
    await eventually('the fault was reported', () => faults.length > 0);
    expect(faults[0]).toMatchObject({ code: '57P01' });
    expect(faults[0]).not.toHaveProperty('client');
    expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  test('a first offer is one round trip', async () => {
    const proxy = own(await startProxy(Number(new URL(fresh.url).port)));
    const databaseUrl = Object.assign(new URL(fresh.url), { port: String(proxy.port) }).href;
    const options = { databaseUrl, dataDir: '/nonexistent', ...ledgerOptions() };
    const ledger = own(await openLedger(options));
    const tenant = await createTenant(ledger);
    const { value, changed } = await tenant.release('1.0.0');
    let answers = 0;
    proxy.dropWhen((chunk) => {
      answers += chunk.toString('latin1').split('Z\0\0\0\x05').length - 1;
      return false;
    });
    const order = { epoch: 0, revision: 2 };
    expect(await ledger.recordFirstOffer(changed[0]?.channelId ?? '', value.id, order)).toBe(true);
    expect(answers).toBe(1);
  });

  test('a migration that the database refuses is named, and changes nothing', async () => {
    const foreign = own(await freshDatabase(postgresUrl));
    await runOn(foreign.url, 'CREATE TABLE accounts (id integer)');
    const options = { dataDir: '/nonexistent', ...ledgerOptions() };
    const refusal =
      'migration baseline failed and was rolled back: relation "accounts" already exists';
    for (const _attempt of [1, 2]) {
      await expect(openLedger({ databaseUrl: foreign.url, ...options })).rejects.toThrow(refusal);
    }
  });
});

test('an address that is none is refused without being repeated', () => {
  for (const url of ['postgres://u:secret@:x:y/db', 'postgres://u:secret@host:99999999/db']) {
    const open = () => openPgDatabase({ url, onFault: () => undefined });
    expect(open).toThrow('The database URL is not a valid PostgreSQL address');
    expect(open).not.toThrow('secret');
  }
});

describeOnRealStores('a PostgreSQL that goes away', () => {
  let server: PostgresServer;

  async function open(report: LedgerReport = new KeptReport()): Promise<Ledger> {
    const options = { databaseUrl: server.url, dataDir: '/nonexistent' };
    return own(await openLedger({ ...options, memory: new TestMemory(), report }));
  }

  async function expectUnavailable(call: Promise<unknown>): Promise<void> {
    await expect(call).rejects.toBeInstanceOf(Unavailable);
  }

  beforeAll(async () => {
    server = await startPostgres();
  });
  afterEach(() => server.resume());
  afterAll(() => server?.stop());

  test('killed: unavailable at once; back again: served again', async () => {
    const ledger = await open();
    const tenant = await createTenant(ledger);
    await server.kill();
    await expectUnavailable(ledger.readSnapshot(tenant.app, 'stable'));
    await expectUnavailable(tenant.release('1.0.0'));
    expect(await ledger.isReachable()).toBe(false);
    await server.restart();
    await eventually('it is reachable', () => ledger.isReachable());
    await tenant.release('1.0.0');
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
    await tenant.release('1.0.0');
  });

  test('away at the start: the ledger opens, is unavailable, and migrates once it is there', async () => {
    await server.kill();
    const [ledger, gone] = [await open(), await open()];
    await expectUnavailable(ledger.createOrganization('Acme', OPERATOR));
    expect(await ledger.isReachable()).toBe(false);
    // Away for good: closing does not wait for it.
    await gone.close();
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

  test('of several hosts those that are away, silent or a standby are passed over; a promoted one is used', async () => {
    const primary = own(await startPostgres());
    const standby = own(await primary.startStandby());
    const silent = own(await startProxy(primary.port));
    silent.blackhole();
    const ports = [await freePort(), silent.port, standby.port, primary.port];
    const hosts = ports.map((port) => `127.0.0.1:${port}`).join(',');
    const url = `postgres://postgres@${hosts}/postgres?target_session_attrs=read-write`;
    const database = own(openPgDatabase({ url, onFault: () => undefined }));
    const first = await Promise.allSettled(
      Array.from({ length: 25 }, () => database.query('SELECT 1 AS one')),
    );
    for (const outcome of first) {
      if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(Unavailable);
    }
    await database.query('CREATE TABLE taken (change text)');
    await standby.catchUp();
    await primary.kill();
    await expectUnavailable(database.query("INSERT INTO taken VALUES ('lost')"));
    await standby.promote();
    await eventually('a change is accepted', () =>
      database.query("INSERT INTO taken VALUES ('promoted')").then(
        () => true,
        () => false,
      ),
    );
    expect(await database.query('SELECT change FROM taken')).toEqual([{ change: 'promoted' }]);
  });
});
