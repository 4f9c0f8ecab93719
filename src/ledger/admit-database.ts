// Examination of a database before its answers are believed: it must be the record, and be migrated. The same
// examination is made at the start, when a connection turns out to lead to another database than before, and
// when tables are missing.

import type { LedgerMemory, RememberedChannel } from '../ports/ledger-memory.ts';
import type { LedgerReport } from '../ports/ledger-report.ts';
import { Unavailable } from '../ports/unavailable.ts';
import type { Database, Sql } from './database.ts';
import { ForeignDatabase } from './foreign-database.ts';
import { migrate } from './migrate.ts';
import { readIdentity } from './read-identity.ts';
import { isMissingObject } from './sql-state-kind.ts';

/** Number of ids that one statement compares. */
const IDS_MAX = 5000;

export type Admission = {
  readonly identity: string;
  /**
   * Whether it is certain that the database is the record: false while a store may remember other channels.
   */
  readonly isSettled: boolean;
};

/**
 * Examines the database, migrates it and raises its epoch when that is due. A foreign database is left as it
 * is. Rejects with `ForeignDatabase` or `Unavailable`, or with another error when waiting may not help.
 */
export async function admitDatabase(
  database: Database,
  memory: LedgerMemory,
  report: LedgerReport,
): Promise<Admission> {
  const identity = await readIdentity(database);
  const { channels, isComplete } = await memory.channels();
  const lost = await findLost(database, channels);
  await migrate(database);
  const raised = await database.transaction((sql) => claim(sql, identity, memory.highestEpoch));
  if ((await readIdentity(database)) !== identity) {
    throw new Unavailable('ledger', 'the address led to another database meanwhile');
  }
  if (raised !== undefined) report.raised(raised, { database: identity });
  if (lost.length > 0) report.lost(lost);
  return { identity, isSettled: channels.length > 0 || isComplete };
}

/**
 * Returns the remembered channels that the database lacks. Rejects with `ForeignDatabase` when it has none of
 * them.
 */
export async function findLost(
  sql: Sql,
  remembered: readonly RememberedChannel[],
): Promise<readonly RememberedChannel[]> {
  if (remembered.length === 0) return [];
  const present = new Set<string>();
  for (let start = 0; start < remembered.length; start += IDS_MAX) {
    const ids = remembered.slice(start, start + IDS_MAX).map(({ channelId }) => channelId);
    for (const id of await findIds(sql, ids)) present.add(id);
  }
  if (present.size === 0) throw new ForeignDatabase(remembered.length);
  return remembered.filter(({ channelId }) => !present.has(channelId));
}

/** Returns which of the ids the database has; none when it has no schema. */
async function findIds(sql: Sql, ids: readonly string[]): Promise<readonly string[]> {
  try {
    const text = 'SELECT id FROM channels WHERE id = ANY ($1::text[])';
    const rows = await sql.query<{ id: string }>(text, [ids]);
    return rows.map(({ id }) => id);
  } catch (error) {
    if (isMissingObject(error)) return [];
    throw error;
  }
}

/**
 * Notes the identity for which the epoch counts. Returns the new epoch when it had to be raised: the row was
 * written on another server, time line or database, or is behind what this process has held. Of several nodes
 * at once, one raises it.
 */
async function claim(
  sql: Sql,
  identity: string,
  highestEpoch: number,
): Promise<number | undefined> {
  const rows = await sql.query<{ epoch: number; identity: string | null }>(
    'SELECT epoch, identity FROM ledger_epoch FOR UPDATE',
  );
  const [row] = rows;
  if (row === undefined) throw new Error('The epoch of the ledger has no row');
  const isMoved = row.identity !== null && row.identity !== identity;
  const isBehind = row.epoch < highestEpoch;
  if (!isMoved && !isBehind && row.identity === identity) return undefined;
  const epoch = isMoved || isBehind ? Math.max(row.epoch, highestEpoch) + 1 : row.epoch;
  await sql.query(
    `UPDATE ledger_epoch SET epoch = $1, identity = $2,
       raised_at = CASE WHEN epoch < $1 THEN clock_timestamp() ELSE raised_at END`,
    [epoch, identity],
  );
  return epoch > row.epoch ? epoch : undefined;
}
