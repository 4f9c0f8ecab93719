// Opens a migrated database without content, embedded or on the run's PostgreSQL, and gives it to the rules
// of suites.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, inject } from 'vitest';
import type { Database } from '../../../src/store/ledger/database/database.ts';
import { openPgDatabase } from '../../../src/store/ledger/database/pg-database.ts';
import { openPgliteDatabase } from '../../../src/store/ledger/database/pglite-database.ts';
import { createSqlLedger } from '../../../src/store/ledger/sql-ledger.ts';
import type { Ledger } from '../../../src/store/ledger.ts';
import { type FreshDatabase, freshDatabase } from '../../support/fresh-database.ts';
import { migratedDatabase } from '../../support/migrated-database.ts';
import { refuseInUnitTests } from '../../support/server-process.ts';

/** Database of one suite; `dispose` closes and removes it. */
export type TestDatabase = { readonly database: Database; dispose(): Promise<void> };

/** Ledger that a suite runs on, with its database. Both can be used once the tests run. */
export type LedgerUnderTest = { readonly ledger: Ledger; readonly database: Database };

export async function openTestPglite(): Promise<TestDatabase> {
  refuseInUnitTests();
  const folder = await mkdtemp(join(tmpdir(), 'sluice-ledger-'));
  const database = await openPgliteDatabase({ directory: join(folder, 'ledger'), onFault });
  return {
    database,
    async dispose() {
      await database.close();
      await rm(folder, { recursive: true });
    },
  };
}

/** Opens a new database on a server; `postgresUrl` names any other database there. */
export async function openTestPostgres(postgresUrl: string): Promise<TestDatabase> {
  return openPostgres(await migratedDatabase(postgresUrl));
}

/** Opens a new database without a schema. */
export async function openEmptyPostgres(postgresUrl: string): Promise<TestDatabase> {
  return openPostgres(await freshDatabase(postgresUrl));
}

/** Declares suites that share one migrated database without content. */
export function describeOn(
  title: string,
  open: () => Promise<TestDatabase>,
  rules: (on: LedgerUnderTest) => void,
): void {
  describe(title, () => {
    let opened: TestDatabase;
    beforeAll(async () => {
      opened = await open();
    });
    afterAll(() => opened?.dispose());
    const database: Database = {
      query: (text, values, timeoutMs) => opened.database.query(text, values, timeoutMs),
      runScript: (text) => opened.database.runScript(text),
      transaction: (work) => opened.database.transaction(work),
      close: () => opened.database.close(),
    };
    rules({ database, ledger: createSqlLedger(database) });
  });
}

/** Declares suites of what PGlite does not have, such as several connections. */
export function describeOnPostgres(title: string, rules: (on: LedgerUnderTest) => void): void {
  const postgresUrl = inject('postgresUrl');
  if (postgresUrl !== '') describeOn(title, () => openTestPostgres(postgresUrl), rules);
  // biome-ignore lint/suspicious/noSkippedTests: the title tells what is missing on this machine.
  else describe.skip(`${title} (skipped: no PostgreSQL on this machine)`, () => undefined);
}

/** Opens a migrated database on the run's PostgreSQL, or PGlite without one. */
export function openTestDatabase(): Promise<TestDatabase> {
  const postgresUrl = inject('postgresUrl');
  return postgresUrl === '' ? openTestPglite() : openTestPostgres(postgresUrl);
}

function openPostgres({ url, drop }: FreshDatabase): TestDatabase {
  const database = openPgDatabase({ url, onFault });
  return {
    database,
    async dispose() {
      await database.close();
      await drop();
    },
  };
}

function onFault(error: unknown): void {
  throw new Error('A fault where none was made', { cause: error });
}
