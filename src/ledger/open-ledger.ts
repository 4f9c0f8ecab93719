// Opens the ledger that the configuration asks for: PostgreSQL if it gives an address, else the embedded
// database.

import { join } from 'node:path';
import type { Ledger } from '../ports/ledger.ts';
import type { Database } from './database.ts';
import { migrateDatabase } from './migrated-database.ts';
import { openPgDatabase } from './pg-database.ts';
import { openPgliteDatabase } from './pglite-database.ts';
import { createSqlLedger } from './sql-ledger.ts';

export type LedgerOptions = {
  /** Address of PostgreSQL; undefined for the embedded database in `dataDir`. */
  readonly databaseUrl: string | undefined;
  readonly dataDir: string;
  /** Called, for the log, with faults that the ledger recovers from by itself. */
  readonly onFault: (error: unknown) => void;
  /**
   * Called at most once, after the ledger was opened, with the error for which its database can never be
   * used.
   */
  readonly onFatal: (error: unknown) => void;
};

/**
 * Opens and migrates the ledger. If PostgreSQL cannot be reached, the ledger opens all the same, and its
 * calls reject with `Unavailable` until it can be reached. Rejects when waiting would not help: for a schema
 * that is newer than this program, a refused password, or an embedded directory that another process has
 * open.
 */
export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  return createSqlLedger(await migrateDatabase(await openDatabase(options), options));
}

async function openDatabase(options: LedgerOptions): Promise<Database> {
  const { databaseUrl: url, dataDir, onFault } = options;
  if (url !== undefined) return openPgDatabase({ url, onFault });
  return openPgliteDatabase({ directory: join(dataDir, 'ledger'), onFault });
}
