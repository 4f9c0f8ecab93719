// Migration of the ledger as a separate step, for operators who run it apart from a start.

import type { LedgerMemory } from '../../ledger-identity.ts';
import type { Database } from '../database/database.ts';
import { migrate, type SchemaChange } from '../database/migrate.ts';
import { isUnmoved, refuseMoved } from '../database/move-mark.ts';
import { openPgDatabase } from '../database/pg-database.ts';
import { openPgliteDatabase } from '../database/pglite-database.ts';
import { countRemembered, examineRecord, refusalOf } from '../database/record-database.ts';
import { refuseRecreation } from '../database/refuse-recreation.ts';
import { directoryIn } from '../open-ledger.ts';

export type MigrateLedgerOptions = {
  /** Address of PostgreSQL; undefined for the embedded database in `dataDir`. */
  readonly databaseUrl: string | undefined;
  readonly dataDir: string;
  readonly memory: LedgerMemory;
};

/**
 * Migrates the schema under the same lock and with the same refusals as a start: rejects for a database that
 * is newer than this program, is not the record, or cannot be reached.
 */
export async function migrateLedger(options: MigrateLedgerOptions): Promise<SchemaChange> {
  const database = await open(options, await countRemembered(options.memory));
  try {
    const directory = directoryIn(options.dataDir);
    const isBeside = options.databaseUrl !== undefined && isUnmoved(directory);
    await examineRecord(database, options.memory, isBeside ? directory : undefined);
    return await migrate(database);
  } catch (error) {
    throw refusalOf(error) ?? error;
  } finally {
    await database.close();
  }
}

async function open(
  { databaseUrl, dataDir }: MigrateLedgerOptions,
  rememberedCount: number,
): Promise<Database> {
  const onFault = () => undefined;
  if (databaseUrl !== undefined) return openPgDatabase({ url: databaseUrl, onFault });
  const directory = directoryIn(dataDir);
  refuseMoved(directory);
  refuseRecreation(directory, rememberedCount);
  return openPgliteDatabase({ directory, onFault });
}
