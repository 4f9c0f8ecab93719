// Examination of a database before its answers are believed: it must be the record, and be migrated. The same
// examination is made at the start, when a connection turns out to lead to another database than before, and
// when tables are missing.

import { Unavailable } from '../../contract/unavailable.ts';
import type { LedgerReport } from '../ledger-identity.ts';
import type { LedgerMemory } from '../ledger-memory.ts';
import type { Database, Sql } from './database.ts';
import { examineRecord } from './examine-record.ts';
import { migrate } from './migrate.ts';
import { newId } from './new-id.ts';
import { readIdentity } from './read-identity.ts';

export type Admission = {
  readonly identity: string;
  /** Epoch of the database once it was admitted. */
  readonly epoch: number;
  /** Name of the record. */
  readonly record: string;
  /**
   * Whether it is certain that the database is the record: false while a store may remember another one.
   */
  readonly isSettled: boolean;
};

/** What else is known of how a database came about. */
export type DatabasePast = {
  /** Database that this process used before. */
  readonly former?: Pick<Admission, 'identity' | 'epoch'> | undefined;
  /** Whether it goes on from an earlier state of the record. */
  readonly isCopy?: boolean;
};

/**
 * Examines the database, migrates it, gives the record its name and raises the epoch when that is due. A
 * foreign database is left as it is. Rejects with `ForeignDatabase` or `Unavailable`, or with another error
 * when waiting may not help.
 */
export async function admitDatabase(
  database: Database,
  memory: LedgerMemory,
  report: LedgerReport,
  past: DatabasePast = {},
): Promise<Admission> {
  const identity = await readIdentity(database);
  const { record: found, inherited, lost, isSettled } = await examineRecord(database, memory);
  await migrate(database);
  const claimed = await database.transaction((sql) =>
    claim(sql, {
      ...past,
      ...{ identity, record: inherited ?? newId('rec'), held: memory.highestEpoch },
    }),
  );
  if ((await readIdentity(database)) !== identity) {
    throw new Unavailable('ledger', 'the address led to another database meanwhile');
  }
  const { record, epoch, isRaised } = claimed;
  // Another node has named it meanwhile: that name was not compared with anything yet.
  if (record !== (found ?? inherited ?? record)) {
    throw new Unavailable('ledger', 'the record got its name meanwhile');
  }
  if (isRaised) report.raised(epoch, { database: identity });
  if (lost.length > 0) report.lost(lost);
  return { identity, epoch, record, isSettled };
}

type Claim = DatabasePast & {
  readonly identity: string;
  /** Name that the record gets when it has none. */
  readonly record: string;
  /** Highest epoch that this process has held. */
  readonly held: number;
};

/**
 * Notes the identity for which the epoch counts, and the name of a record that has none. Raises the epoch
 * when the database is a copy, the row was written on another server, time line or database, is behind what
 * this process has held, or is not ahead of another database that this process used before. Of several
 * nodes at once, one raises it.
 */
async function claim(sql: Sql, { identity, record, held, former, isCopy = false }: Claim) {
  const rows = await sql.query<{ epoch: number; identity: string | null; record: string | null }>(
    'SELECT epoch, identity, record FROM ledger_epoch FOR UPDATE',
  );
  const [row] = rows;
  if (row === undefined) throw new Error('The epoch of the ledger has no row');
  const isMoved = row.identity !== null && row.identity !== identity;
  // Two copies of a record that both went on may have come to the same epoch.
  const isRival = former !== undefined && former.identity !== identity && row.epoch <= former.epoch;
  const isRaised = isMoved || isRival || isCopy || row.epoch < held;
  const epoch = isRaised ? Math.max(row.epoch, held, former?.epoch ?? 0) + 1 : row.epoch;
  if (isRaised || row.identity !== identity || row.record === null) {
    await sql.query(
      `UPDATE ledger_epoch SET epoch = $1, identity = $2, record = coalesce(record, $3),
         raised_at = CASE WHEN epoch < $1 THEN clock_timestamp() ELSE raised_at END`,
      [epoch, identity, record],
    );
  }
  return { epoch, isRaised, record: row.record ?? record };
}
