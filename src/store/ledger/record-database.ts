// Database that answers only while it is known to be the record, and is migrated. It is examined before the
// first call; again when a connection turns out to lead to another database than before (a fail-over, a
// restore, another server behind the same name); and again when tables are missing. Until an examination
// succeeds, every call rejects with `Unavailable`, so that callers serve what they know.

import { Unavailable } from '../../contract/unavailable.ts';
import { type BackOff, backOffMs } from '../../flow/back-off.ts';
import { pause } from '../../flow/pause.ts';
import { withinTime } from '../../flow/within-time.ts';
import type { LedgerReport } from '../ledger-identity.ts';
import type { LedgerMemory, RememberedChannel } from '../ledger-memory.ts';
import { type Admission, admitDatabase } from './admit-database.ts';
import type { Database, Sql } from './database.ts';
import { countRemembered, examineRecord, knowsSome } from './examine-record.ts';
import { ForeignDatabase } from './foreign-database.ts';
import { readIdentity } from './read-identity.ts';
import { isMissingObject, sqlStateKind } from './sql-state-kind.ts';

/** Short enough that a database which is back is used, and followed by the poll, within 5 s. */
const BACK_OFF: BackOff = { minMs: 250, maxMs: 2000 };
/** Milliseconds between examinations while a store that may remember channels has not answered. */
const SETTLE_INTERVAL_MS = 1000;
/** Longest wait of a call for the examination of the database that took the place of the one before. */
const TURN_MS_MAX = 1000;

/** Examiner of connections, which a pool asks before it uses one. */
export type Greeter = {
  /** Identity that a connection must have; undefined while the database is examined. */
  readonly identity: string | undefined;
  /** Returns the connection's identity; rejects when it is not the one that it must have. */
  greet(sql: Sql): Promise<string>;
};

export type MigratedDatabaseOptions = {
  readonly memory: LedgerMemory;
  readonly report: LedgerReport;
  /** Whether the database is known to go on from an earlier state of the record. */
  readonly isCopy: boolean;
};

/** Error of a connection that leads to another database than the admitted one. Nothing was sent on it. */
class NotAdmitted extends Unavailable {}

export class MigratedDatabase implements Database, Greeter {
  readonly #options: MigratedDatabaseOptions;
  readonly #closing = new AbortController();
  #database: Database | undefined;
  /** Identity of the admitted database; undefined until one was admitted. */
  #admitted: string | undefined;
  /** Latest database that was admitted, whether or not it still is. */
  #latest: Admission | undefined;
  #admitting: Promise<void> | undefined;
  #settling: Promise<void> | undefined;
  /** First attempt after another database was found behind the address, for which calls wait a moment. */
  #turn: Promise<unknown> | undefined;
  #reason: unknown = 'the database was not reached and migrated yet';

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
    if (expected === this.#admitted) this.#demote('the address leads to another database');
    throw new NotAdmitted('ledger', 'the address leads to another database');
  }

  /**
   * Examines the database again when a caller has reason to: it has none of the channels that the caller
   * asked about. Rejects with `Unavailable` when it is not the record.
   */
  async confirm(): Promise<void> {
    await this.#examine();
  }

  /** Returns whether the database has one of these channels. */
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
      if (!(error instanceof NotAdmitted)) throw error;
      return call(await this.#whenAdmitted());
    }
  }

  /** Waits a moment for the examination of a database that has just taken the place of another one. */
  async #whenAdmitted(): Promise<Database> {
    if (this.#admitted === undefined && this.#turn !== undefined) {
      await withinTime(this.#turn, TURN_MS_MAX);
    }
    if (this.#admitted === undefined || this.#database === undefined) {
      throw new Unavailable('ledger', this.#reason);
    }
    return this.#database;
  }

  /** Stops answering until the database has been examined again. */
  #demote(reason: unknown): void {
    this.#reason = reason;
    if (this.#admitted === undefined) return;
    this.#admitted = undefined;
    this.#admit();
  }

  /** Goes on trying until the database is admitted. */
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

  /** Returns whether the database was admitted; rejects when the first attempt ends the start. */
  async #attempt(isFirst: boolean): Promise<boolean> {
    const { memory, report, isCopy } = this.#options;
    const database = this.#database;
    if (database === undefined) return false;
    try {
      const former = this.#latest?.isSettled === true ? this.#latest : undefined;
      const admission = await admitDatabase(database, memory, report, { former, isCopy });
      const { identity, record, isSettled } = admission;
      this.#latest = admission;
      this.#admitted = identity;
      report.admitted(record, isSettled);
      if (!isSettled) this.#settling ??= this.#settle();
      return true;
    } catch (error) {
      this.#reason = error;
      if (error instanceof ForeignDatabase) report.foreign(error.count);
      else if (isOutage(error)) report.fault(error);
      else if (isFirst && !(await this.#hasSomething())) throw error;
      else report.refused(error);
      return false;
    }
  }

  /** Examines the database that was admitted; returns whether it is certain that it is the record. */
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

  /** Examines the database again until every store has answered that may remember another one. */
  async #settle(): Promise<void> {
    const { signal } = this.#closing;
    const { memory, report } = this.#options;
    for (let isOver = false; !isOver && !signal.aborted; ) {
      await pause(SETTLE_INTERVAL_MS, signal);
      if ((await memory.shared()) === undefined) continue;
      // While it is not admitted, it is examined anyway.
      const isSettled = await this.#examine().catch(() => undefined);
      if (isSettled === true && this.#latest !== undefined) {
        this.#latest = { ...this.#latest, isSettled };
        report.admitted(this.#latest.record, isSettled);
      }
      isOver = isSettled !== false;
    }
    this.#settling = undefined;
  }

  /** Whether there is something that can be served without this database. */
  async #hasSomething(): Promise<boolean> {
    return (await countRemembered(this.#options.memory)) > 0;
  }
}

/**
 * Opens a database and makes one attempt to admit it, and goes on trying in the background. Closes the
 * database and rejects when the first attempt shows that waiting may not help (a refused login, a newer
 * schema) and nothing is remembered that could be served meanwhile.
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

/**
 * Whether an error is an outage, which waiting ends. A server that answered and refused the connection, for a
 * wrong password or a missing database, is none.
 */
function isOutage(error: unknown): boolean {
  if (!(error instanceof Unavailable)) return false;
  const { cause } = error;
  if (typeof cause !== 'object' || cause === null || !('code' in cause)) return true;
  return typeof cause.code !== 'string' || sqlStateKind(cause.code) !== 'misconfigured';
}
