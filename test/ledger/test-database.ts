// Opens a migrated database without content for one suite, embedded or on the run's PostgreSQL.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Database } from '../../src/ledger/database.ts';
import { openPgDatabase } from '../../src/ledger/pg-database.ts';
import { openPgliteDatabase } from '../../src/ledger/pglite-database.ts';
import { migratedDatabase } from '../support/migrated-database.ts';
import { refuseInUnitTests } from '../support/server-process.ts';

/** Database of one suite; `dispose` closes and removes it. */
export type TestDatabase = { readonly database: Database; dispose(): Promise<void> };

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
  const { url, drop } = await migratedDatabase(postgresUrl);
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
