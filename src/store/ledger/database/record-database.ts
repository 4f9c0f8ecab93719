// Database that answers only while it is known to be the record and is migrated. It is examined before the
// first call, when a connection leads to another database than before, and when tables are missing. Until an
// examination succeeds, every call rejects with `Unavailable`, and callers serve what they know.

import { type ToldFault, Unavailable, Unexamined } from '../../../contract/store-fault.ts';
import {
  type Holding,
  judgeDatabase,
  recordKinship,
} from '../../../domain/decision/ledger-record.ts';
import { type BackOff, backOffMs, pause } from '../../../flow/pause.ts';
import { withinTime } from '../../../flow/within-time.ts';
import type {
  ForeignFault,
  LedgerMemory,
  LedgerReport,
  RememberedChannel,
  RememberedRecord,
} from '../../ledger-identity.ts';
import { newId } from './columns.ts';
import { type Database, isMissingObject, type Sql, sqlStateKind } from './database.ts';
import { readIdentity } from './database-identity.ts';
import { migrate } from './migrate.ts';
import { wayOf } from './move-mark.ts';

/** Short enough that a node uses a database within 5 s after it is back. */
const BACK_OFF: BackOff = { minMs: 250, maxMs: 2000 };
/** Milliseconds between examinations while a store that may remember channels has not answered. */
const SETTLE_INTERVAL_MS = 1000;
/** Longest time for which a call waits for the examination of a database that has replaced another. */
const TURN_MS_MAX = 1000;

/** Examiner of a pool's connections before use. */
export type Greeter = {
  /** Identity that a connection must have; undefined during an examination. */
  readonly identity: string | undefined;
  /** Returns the connection's identity; rejects if it is the wrong one. */
  greet(sql: Sql): Promise<string>;
};

type MigratedDatabaseOptions = {
  readonly memory: LedgerMemory;
  readonly report: LedgerReport;
  /** Whether the database continues from an earlier state of the record. */
  readonly isCopy: boolean;
  /** Directory with an embedded ledger that was not moved to this PostgreSQL; undefined if there is none. */
  readonly unmoved: string | undefined;
};

class MigratedDatabase implements Database, Greeter {
  readonly #options: MigratedDatabaseOptions;
  readonly #closing = new AbortController();
  #database: Database | undefined;
  /** Identity of the admitted database; undefined while none is admitted. */
  #admitted: string | undefined;
  /** Latest admission, even if it was withdrawn. */
  #latest: Admission | undefined;
  #admitting: Promise<void> | undefined;
  #settling: Promise<void> | undefined;
  /** First attempt after the address led to another database; calls wait a moment for it. */
  #turn: Promise<unknown> | undefined;
  #reason: unknown = 'it was not reached and migrated yet';

  constructor(options: MigratedDatabaseOptions) {
    this.#options = options;
  }

  async start(database: Database): Promise<void> {
    this.#database = database;
    if (!(await this.#attempt(true))) this.#admit();
  }

  get identity(): string | undefined {
    return this.#admitted;
  }

  async greet(sql: Sql): Promise<string> {
    const expected = this.#admitted;
    const identity = await readIdentity(sql);
    if (identity === this.#admitted) return identity;
    // The call has sent nothing on this connection, so `#run` may repeat it.
    const unexamined = new Unexamined();
    if (expected === this.#admitted) this.#demote(unexamined);
    throw unexamined;
  }

  /** Examines the database again for a caller whose channels it lacks. Rejects if it is not the record. */
  async confirm(): Promise<void> {
    await this.#examine();
  }

  knowsSome(channels: readonly Pick<RememberedChannel, 'channelId'>[]): Promise<boolean> {
    return this.#run((database) => knowsSome(database, channels));
  }

  query<Row>(text: string, values?: readonly unknown[], timeoutMs?: number): Promise<Row[]> {
    return this.#run((database) => database.query<Row>(text, values, timeoutMs));
  }

  runScript(text: string): Promise<void> {
    return this.#run((database) => database.runScript(text));
  }

  transaction<Value>(work: (sql: Sql) => Promise<Value>): Promise<Value> {
    return this.#run((database) => database.transaction(work));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all([this.#admitting, this.#settling]);
    await this.#database?.close();
  }

  async #run<Value>(call: (database: Database) => Promise<Value>): Promise<Value> {
    try {
      return await call(await this.#whenAdmitted());
    } catch (error) {
      if (isMissingObject(error)) this.#demote(error);
      if (!(error instanceof Unexamined)) throw error;
      return call(await this.#whenAdmitted());
    }
  }

  /** Returns the admitted database; waits a moment for the examination of one that replaced another. */
  async #whenAdmitted(): Promise<Database> {
    if (this.#admitted === undefined && this.#turn !== undefined) {
      await withinTime(this.#turn, TURN_MS_MAX);
    }
    if (this.#admitted === undefined || this.#database === undefined) {
      throw this.#reason instanceof Unexamined
        ? this.#reason
        : new Unavailable('ledger', this.#reason);
    }
    return this.#database;
  }

  /** Rejects all calls until the database has been examined again. */
  #demote(reason: unknown): void {
    this.#reason = reason;
    if (this.#admitted === undefined) return;
    this.#admitted = undefined;
    this.#admit();
  }

  /** Retries in the background until the database is admitted. */
  #admit(): void {
    this.#admitting ??= this.#tryUntilAdmitted();
  }

  async #tryUntilAdmitted(): Promise<void> {
    const { signal } = this.#closing;
    for (let failures = 0; this.#admitted === undefined && !signal.aborted; failures++) {
      if (failures > 0) await pause(backOffMs(BACK_OFF, failures), signal);
      if (signal.aborted) break;
      const attempt = this.#attempt(false);
      if (failures === 0) this.#turn = attempt;
      await attempt;
      this.#turn = undefined;
    }
    this.#admitting = undefined;
  }

  /** Returns whether the database was admitted; rejects if the first attempt must end the start. */
  async #attempt(isFirst: boolean): Promise<boolean> {
    const { memory, report, isCopy, unmoved } = this.#options;
    const database = this.#database;
    if (database === undefined) return false;
    try {
      const former = this.#latest?.isSettled === true ? this.#latest : undefined;
      const past = { former, isCopy, unmoved };
      const admission = await admitDatabase(database, memory, report, past);
      const { identity, record, isSettled } = admission;
      this.#latest = admission;
      this.#admitted = identity;
      report.admitted(record, isSettled);
      if (!isSettled) this.#settling ??= this.#settle();
      return true;
    } catch (error) {
      this.#reason = error;
      const refusal = isFirst ? refusalOf(error) : undefined;
      if (refusal !== undefined) throw refusal;
      if (error instanceof ForeignDatabase) report.foreign(error);
      else if (isOutage(error)) report.fault(error);
      // Without a remembered channel there is nothing to serve meanwhile.
      else if (isFirst && (await countRemembered(memory)) === 0) throw error;
      else report.refused(error);
      return false;
    }
  }

  /** Examines the admitted database; returns whether it is certain to be the record. */
  #examine(): Promise<boolean> {
    const { memory, report } = this.#options;
    return this.#run(async (database) => {
      try {
        const { lost, isSettled } = await examineRecord(database, memory);
        if (lost.length > 0) report.lost(lost);
        return isSettled;
      } catch (error) {
        if (error instanceof ForeignDatabase) this.#demote(error);
        throw error;
      }
    });
  }

  /** Repeats the examination until every store has answered that may remember another record. */
  async #settle(): Promise<void> {
    const { signal } = this.#closing;
    const { memory, report } = this.#options;
    for (let isOver = false; !isOver && !signal.aborted; ) {
      await pause(SETTLE_INTERVAL_MS, signal);
      if ((await memory.shared()) === undefined) continue;
      // While the database is not admitted, `#tryUntilAdmitted` examines it.
      const isSettled = await this.#examine().catch(() => undefined);
      if (isSettled === true && this.#latest !== undefined) {
        this.#latest = { ...this.#latest, isSettled };
        report.admitted(this.#latest.record, isSettled);
      }
      isOver = isSettled !== false;
    }
    this.#settling = undefined;
  }
}

/**
 * Opens a database, tries to admit it once, and goes on in the background. Closes it and rejects if the first
 * attempt finds an empty PostgreSQL beside a ledger that was not moved, or if waiting may not help (a refused
 * login, a newer schema) and no channel is remembered that could be served meanwhile.
 */
export async function migrateDatabase(
  open: (greeter: Greeter) => Database | Promise<Database>,
  options: MigratedDatabaseOptions,
): Promise<MigratedDatabase> {
  const migrated = new MigratedDatabase(options);
  try {
    await migrated.start(await open(migrated));
    return migrated;
  } catch (error) {
    await migrated.close();
    throw error;
  }
}

/** Returns whether an error may end by itself; a refused login or a missing database does not. */
function isOutage(error: unknown): boolean {
  if (!(error instanceof Unavailable)) return false;
  const { cause } = error;
  if (typeof cause !== 'object' || cause === null || !('code' in cause)) return true;
  return typeof cause.code !== 'string' || sqlStateKind(cause.code) !== 'misconfigured';
}

// Admission of a database: it must be the record, and be migrated.

type Admission = {
  readonly identity: string;
  /** Epoch of the database after the admission. */
  readonly epoch: number;
  readonly record: string;
  /** Whether the database is certain to be the record; false while a store may remember another one. */
  readonly isSettled: boolean;
};

/** What the process knows of the database's past. */
export type DatabasePast = {
  /** Database that this process used before. */
  readonly former?: Pick<Admission, 'identity' | 'epoch'> | undefined;
  /** Whether it continues from an earlier state of the record. */
  readonly isCopy?: boolean;
  /** Directory of an embedded database whose record was not moved; undefined for none. */
  readonly unmoved?: string | undefined;
};

/**
 * Examines the database, migrates it, names the record and raises the epoch if needed. Does not change a
 * foreign database. Rejects with `ForeignDatabase` or `Unavailable`, or with another error when waiting may
 * not help.
 */
export async function admitDatabase(
  database: Database,
  memory: LedgerMemory,
  report: LedgerReport,
  past: DatabasePast = {},
): Promise<Admission> {
  const identity = await readIdentity(database);
  const examined = await examineRecord(database, memory, past.unmoved);
  const { record: found, inherited, lost, isSettled } = examined;
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
  // Another node has named the record meanwhile; this node has not compared that name with its memory.
  if (record !== (found ?? inherited ?? record)) {
    throw new Unavailable('ledger', 'the record got its name meanwhile');
  }
  if (isRaised) report.raised(epoch, { database: identity });
  if (lost.length > 0) report.lost(lost);
  return { identity, epoch, record, isSettled };
}

type Claim = DatabasePast & {
  readonly identity: string;
  /** Name for a record without one. */
  readonly record: string;
  /** Highest epoch that this process has held. */
  readonly held: number;
};

/**
 * Stores the identity to which the epoch belongs, and the name of a record without one. Raises the epoch if
 * the database is a copy from a backup; if another server, time line or database wrote the row; if the row is
 * behind this process; or if it is not ahead of the database that the process used before. Of several nodes,
 * one raises it.
 */
async function claim(sql: Sql, { identity, record, held, former, isCopy = false }: Claim) {
  const rows = await sql.query<{ epoch: number; identity: string | null; record: string | null }>(
    'SELECT epoch, identity, record FROM ledger_epoch FOR UPDATE',
  );
  const [row] = rows;
  if (row === undefined) throw new Error('The epoch of the ledger has no row');
  const isMoved = row.identity !== null && row.identity !== identity;
  // Two copies of a record that both accepted changes may have reached the same epoch.
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

/** Fault of a database that answers but is not the record that this node or Redis remembers. */
class NotTheRecord extends Error implements ToldFault {
  readonly told: ToldFault['told'];

  constructor(isEmpty: boolean) {
    super('the database is not the record that DATA_DIR or Redis remember');
    this.told = {
      why: isEmpty
        ? 'has an empty database, and not the record that DATA_DIR or Redis remember'
        : 'has the database of another record than DATA_DIR or Redis remember',
      remedy: 'name the right one, or see docs/operating/another-record.md',
    };
  }
}

/** Error of a database that has another record than the remembered one, or is empty. */
export class ForeignDatabase extends Unavailable implements ForeignFault {
  readonly count: number;
  readonly remedy: string | undefined;

  constructor(count: number, isEmpty: boolean, remedy?: string) {
    super('ledger', new NotTheRecord(isEmpty));
    this.count = count;
    this.remedy = remedy;
  }
}

/** Returns the error that ends a start or a migration and names the way on; undefined if none is known. */
export function refusalOf(error: unknown): Error | undefined {
  const way = error instanceof ForeignDatabase ? error.remedy : undefined;
  return way === undefined ? undefined : new Error(way, { cause: error });
}

// Examination: compares what the database says about its record with what is remembered outside it. Changes
// nothing.

/** Number of ids per statement. */
const IDS_MAX = 5000;

/** Examines a database. Rejects with `ForeignDatabase` when it is not the record. */
export async function examineRecord(
  sql: Sql,
  memory: LedgerMemory,
  unmoved?: string,
): Promise<{
  /** Name of the record in the database; undefined before it has one. */
  readonly record: string | undefined;
  /** Name for a record without one, from the memory that has its channels; undefined if that has none. */
  readonly inherited: string | undefined;
  /** Remembered channels that the database lacks. */
  readonly lost: readonly RememberedChannel[];
  /** Whether the database is certain to be the record; false while a store may remember another one. */
  readonly isSettled: boolean;
}> {
  const own = await memory.own();
  const shared = await memory.shared();
  const record = await readRecord(sql);
  const hasChannels = await knowsAny(sql);
  const remembered = [...own.channels, ...(shared?.channels ?? [])];
  if (unmoved !== undefined && record === undefined && !hasChannels) {
    throw new ForeignDatabase(remembered.length, true, wayOf(unmoved));
  }
  const known = await findKnown(sql, remembered);
  const mine = holdingOf(own, known);
  const theirs = shared && holdingOf(shared, known);
  const { isRecord, ...verdict } = judgeDatabase({ record, hasChannels }, mine, theirs);
  const isEmpty = record === undefined && !hasChannels;
  if (!isRecord) throw new ForeignDatabase(remembered.length, isEmpty);
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

/** Returns the number of channels that this node and the engine remember. */
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

/** Returns the record's name, if any. Reads the row as JSON, because an earlier schema lacks the column. */
async function readRecord(sql: Sql): Promise<string | undefined> {
  const text = `SELECT to_jsonb(ledger_epoch) ->> 'record' AS record FROM ledger_epoch`;
  const rows = await unlessMissing(sql.query<{ record: string | null }>(text));
  return rows[0]?.record ?? undefined;
}

async function knowsAny(sql: Sql): Promise<boolean> {
  return (await unlessMissing(sql.query('SELECT FROM channels LIMIT 1'))).length > 0;
}

/** Returns the ids of the channels that the database has; none if it has no schema. */
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

/** Returns no rows if the table is missing. */
async function unlessMissing<Row>(rows: Promise<Row[]>): Promise<readonly Row[]> {
  try {
    return await rows;
  } catch (error) {
    if (isMissingObject(error)) return [];
    throw error;
  }
}
