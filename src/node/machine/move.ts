// Work of `sluice move`: moves the record of a stopped embedded service to PostgreSQL, or undoes that.

import type { MoveConfig } from '../../settings/move-settings.ts';
import { ConfigError } from '../../settings/settings.ts';
import { refuseBadAddress } from '../../store/ledger/database/hosts-pool.ts';
import { type Moved, moveLedger, undoMove } from '../../store/ledger/upkeep/move-ledger.ts';

/** Moves the record, or does a dry run. Rejects with a `ConfigError` whose message is one line. */
export async function moveRecord(
  { dataDir, databaseUrl }: MoveConfig,
  isDryRun: boolean,
): Promise<Moved & { readonly seconds: number }> {
  const startedAt = performance.now();
  const moved = await inOneLine(databaseUrl, () => moveLedger({ dataDir, databaseUrl, isDryRun }));
  return { ...moved, seconds: Math.round(performance.now() - startedAt) / 1000 };
}

/** Undoes a move: the embedded ledger is the record again. Rejects with a `ConfigError` of one line. */
export async function undoMovedRecord(
  { dataDir, databaseUrl }: MoveConfig,
  isForced: boolean,
): Promise<true> {
  await inOneLine(databaseUrl, () => undoMove({ dataDir, databaseUrl, isForced }));
  return true;
}

/** Does the work; turns an error into a `ConfigError` whose message is one line. */
async function inOneLine<Value>(databaseUrl: string, work: () => Promise<Value>): Promise<Value> {
  try {
    refuseBadAddress(databaseUrl);
    return await work();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ConfigError(reason.replace(/\s+/g, ' '), { cause: error });
  }
}
