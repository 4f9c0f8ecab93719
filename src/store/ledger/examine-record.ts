// Examination of whether a database is the record: what it tells of itself is compared with what is
// remembered outside of it. Nothing is changed.

import { judgeDatabase } from '../../domain/decision/judge-database.ts';
import { type Holding, recordKinship } from '../../domain/decision/record-kinship.ts';
import type { LedgerMemory, RememberedChannel, RememberedRecord } from '../ledger-identity.ts';
import { isMissingObject, type Sql } from './database.ts';
import { ForeignDatabase } from './record-database.ts';

/** Number of ids that one statement compares. */
const IDS_MAX = 5000;

export type ExaminedRecord = {
  /** Name of the record as the database has it; undefined before it has one. */
  readonly record: string | undefined;
  /** Name that it is to get, because what it is remembered by has it. */
  readonly inherited: string | undefined;
  /** Remembered channels that the database lacks. */
  readonly lost: readonly RememberedChannel[];
  /** Whether it is certain that the database is the record: false while a store may remember another one. */
  readonly isSettled: boolean;
};

/** Examines a database. Rejects with `ForeignDatabase` when it is not the record. */
export async function examineRecord(sql: Sql, memory: LedgerMemory): Promise<ExaminedRecord> {
  const own = await memory.own();
  const shared = await memory.shared();
  const record = await readRecord(sql);
  const hasChannels = await knowsAny(sql);
  const remembered = [...own.channels, ...(shared?.channels ?? [])];
  const known = await findKnown(sql, remembered);
  const mine = holdingOf(own, known);
  const theirs = shared && holdingOf(shared, known);
  const { isRecord, ...verdict } = judgeDatabase({ record, hasChannels }, mine, theirs);
  if (!isRecord) throw new ForeignDatabase(remembered.length);
  const isShared = theirs !== undefined && recordKinship(theirs, record) === 'same';
  const lost = new Map(
    (isShared ? remembered : own.channels)
      .filter(({ channelId }) => !known.has(channelId))
      .map((channel) => [channel.channelId, channel]),
  );
  return { ...verdict, record, lost: [...lost.values()] };
}

function holdingOf({ record, channels }: RememberedRecord, known: ReadonlySet<string>): Holding {
  const knownCount = channels.filter(({ channelId }) => known.has(channelId)).length;
  return { record, channelCount: channels.length, knownCount };
}

/** Returns the number of channels that are remembered. */
export async function countRemembered(memory: LedgerMemory): Promise<number> {
  const own = await memory.own();
  const shared = await memory.shared();
  return own.channels.length + (shared?.channels.length ?? 0);
}

/** Returns whether the database has one of these channels. */
export async function knowsSome(
  sql: Sql,
  channels: readonly Pick<RememberedChannel, 'channelId'>[],
): Promise<boolean> {
  for (let start = 0; start < channels.length; start += IDS_MAX) {
    if ((await findKnown(sql, channels.slice(start, start + IDS_MAX))).size > 0) return true;
  }
  return false;
}

/**
 * Returns the name of the record; undefined when the database has none, or no schema. As JSON, because an
 * earlier schema lacks the column.
 */
async function readRecord(sql: Sql): Promise<string | undefined> {
  const text = `SELECT to_jsonb(ledger_epoch) ->> 'record' AS record FROM ledger_epoch`;
  const rows = await unlessMissing(sql.query<{ record: string | null }>(text));
  return rows[0]?.record ?? undefined;
}

/** Returns whether the database has any channel. */
async function knowsAny(sql: Sql): Promise<boolean> {
  return (await unlessMissing(sql.query('SELECT FROM channels LIMIT 1'))).length > 0;
}

/** Returns the ids of those of the channels that the database has; none when it has no schema. */
async function findKnown(
  sql: Sql,
  channels: readonly Pick<RememberedChannel, 'channelId'>[],
): Promise<ReadonlySet<string>> {
  const ids = [...new Set(channels.map(({ channelId }) => channelId))];
  const known = new Set<string>();
  for (let start = 0; start < ids.length; start += IDS_MAX) {
    const text = 'SELECT id FROM channels WHERE id = ANY ($1::text[])';
    const some = [ids.slice(start, start + IDS_MAX)];
    const rows = await unlessMissing(sql.query<{ id: string }>(text, some));
    for (const { id } of rows) known.add(id);
  }
  return known;
}

/** Returns no rows where the table is missing. */
async function unlessMissing<Row>(rows: Promise<Row[]>): Promise<readonly Row[]> {
  try {
    return await rows;
  } catch (error) {
    if (isMissingObject(error)) return [];
    throw error;
  }
}
