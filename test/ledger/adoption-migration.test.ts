// Tests what the migration that brought counts by day and month makes of a fleet that had only those by hour.

import { readdir, readFile } from 'node:fs/promises';
import { afterEach, describe, expect, inject, test } from 'vitest';
import type { AdoptionStep } from '../../src/contract/resource.ts';
import type { Database } from '../../src/ledger/database.ts';
import { migrate } from '../../src/ledger/migrate.ts';
import { openPgDatabase } from '../../src/ledger/pg-database.ts';
import { createSqlLedger } from '../../src/ledger/sql-ledger.ts';
import { freshDatabase } from '../support/fresh-database.ts';
import { checkIn, HOUR_MS, iso } from './fleet-fixture.ts';
import { createTenant } from './ledger-fixture.ts';
import { openTestPglite, type TestDatabase } from './test-database.ts';

const MIGRATIONS = new URL('../../src/ledger/migration/', import.meta.url);
/** Number of migrations before it. */
const EARLIER = 20;
const DAY_MS = 24 * HOUR_MS;
const postgresUrl = inject('postgresUrl');

describe('the migration to days and months on PGlite', () => describeMigration(openTestPglite));

if (postgresUrl === '') {
  // biome-ignore lint/suspicious/noSkippedTests: the title tells what is missing on this machine.
  describe.skip('the migration to days and months on PostgreSQL (skipped: there is none)', () =>
    undefined);
} else {
  describe('the migration to days and months on PostgreSQL', () =>
    describeMigration(openEmptyPostgres));
}

function describeMigration(open: () => Promise<TestDatabase>): void {
  let opened: TestDatabase | undefined;
  afterEach(async () => {
    await opened?.dispose();
  });

  test('the present day and month are counted, earlier ones have at least their largest hour', async () => {
    opened = await open();
    const { database } = opened;
    await applyEarlier(database);
    const ledger = createSqlLedger(database);
    const tenant = await createTenant(ledger);
    const now = Date.now();
    const today = Math.floor(now / DAY_MS) * DAY_MS;
    const before = today - 70 * DAY_MS;
    const [old, present] = ['1.0.0', '2.0.0'];
    const record = (at: number, version: string, ...ids: string[]) =>
      ledger.recordCheckIns(ids.map((id) => checkIn(tenant, id, { at, version })));
    await record(before + HOUR_MS, old, 'a', 'b', 'c');
    await record(before + 2 * HOUR_MS, old, 'b', 'gone');
    await record(before + 2 * HOUR_MS, present, 'a');
    await record(before + 3 * HOUR_MS, present, 'a', 'b', 'c', 'd');
    await record(before + 4 * HOUR_MS, present, 'a');
    await record(now - 1, old, 'a', 'b', 'e');
    await record(now, present, 'a');

    await migrate(database);
    const read = (step: AdoptionStep) =>
      ledger.readAdoptionSteps(tenant.appId, { since: iso(0), step, channel: undefined });
    const counted = [
      { version: old, devices: 2, isMinimum: false },
      { version: present, devices: 1, isMinimum: false },
    ];
    const minimum = { version: present, devices: 4, isMinimum: true };
    const monthOf = (at: number) => `${iso(at).slice(0, 7)}-01T00:00:00.000Z`;
    expect(await read('day')).toEqual([
      { at: iso(before), ...minimum },
      ...counted.map((count) => ({ at: iso(today), ...count })),
    ]);
    expect(await read('month')).toEqual([
      { at: monthOf(before), ...minimum },
      ...counted.map((count) => ({ at: monthOf(today), ...count })),
    ]);

    await record(now + 1, present, 'b', 'f');
    expect(await read('day')).toMatchObject([
      minimum,
      { version: old, devices: 1 },
      { version: present, devices: 3 },
    ]);
  });
}

async function openEmptyPostgres(): Promise<TestDatabase> {
  const { url, drop } = await freshDatabase(postgresUrl);
  const database = openPgDatabase({
    url,
    onFault(error) {
      throw new Error('A fault where none was made', { cause: error });
    },
  });
  return {
    database,
    async dispose() {
      await database.close();
      await drop();
    },
  };
}

/** Makes the schema as it was before, in place of any other. */
async function applyEarlier(database: Database): Promise<void> {
  const names = (await readdir(MIGRATIONS)).sort().slice(0, EARLIER);
  await database.runScript(
    `DROP SCHEMA public CASCADE;
     CREATE SCHEMA public;
     CREATE TABLE sluice_migrations (id integer PRIMARY KEY, name text NOT NULL,
       applied_at timestamptz(3) NOT NULL DEFAULT clock_timestamp())`,
  );
  for (const [index, name] of names.entries()) {
    const script = await readFile(new URL(name, MIGRATIONS), 'utf8');
    await database.transaction(async (sql) => {
      await sql.runScript(script);
      await sql.query('INSERT INTO sluice_migrations (id, name) VALUES ($1, $2)', [
        index + 1,
        name,
      ]);
    });
  }
}
