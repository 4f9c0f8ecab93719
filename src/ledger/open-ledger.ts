// The ledger as the configuration asks for it: PostgreSQL where there is an address, else embedded.

import { join } from 'node:path';
import type { Ledger } from '../ports/ledger.ts';
import type { Database } from './database.ts';
import { migrateDatabase } from './migrated-database.ts';
import { openPgDatabase } from './pg-database.ts';
import { openPgliteDatabase } from './pglite-database.ts';
import { createSqlLedger } from './sql-ledger.ts';

export type LedgerOptions = {
  /** Undefined: embedded, in `dataDir`. */
  readonly databaseUrl: string | undefined;
  readonly dataDir: string;
  /** Hears, for the log, of faults that the ledger recovers from by itself. */
  readonly onFault: (error: unknown) => void;
  /** Hears at most once, after the ledger was opened, that its database can never be used as it is. */
  readonly onFatal: (error: unknown) => void;
};

/**
 * Opens and migrates. A PostgreSQL that cannot be reached is no reason to fail: the ledger is
 * `Unavailable` until it is. Rejects when waiting would not help: a schema newer than this program, a
 * refused password, an embedded directory that another process has open.
 */
export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  return createSqlLedger(await migrateDatabase(await openDatabase(options), options));
}

async function openDatabase(options: LedgerOptions): Promise<Database> {
  const { databaseUrl: url, dataDir, onFault } = options;
  if (url !== undefined) return openPgDatabase({ url, onFault });
  return openPgliteDatabase({ directory: join(dataDir, 'ledger'), onFault });
}
