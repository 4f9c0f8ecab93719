// The database under the ledger: statements, and transactions on one connection. Implementations: a pool of
// PostgreSQL connections, and PGlite in its own process.
//
// Both reject with `Unavailable` when the database cannot be reached or does not answer in time. For a faulty
// statement, which is a bug, they reject with the database's own error (`code`, `constraint`).

import { Unavailable } from '../../../contract/store-fault.ts';

export interface Database extends Sql {
  /**
   * Runs `work` in a transaction on its own connection. Commits when `work` resolves; rolls back when it
   * rejects, or when a statement failed although `work` went on. `work` must not use `sql` after the
   * transaction. A refusal that `work` returns as a value commits; `atomically` rolls it back. If the
   * database undoes the transaction because of others (a deadlock), `work` runs again from the beginning.
   */
  transaction<Value>(work: (sql: Sql) => Promise<Value>): Promise<Value>;

  /** Waits for running calls, then releases the connections. Later calls reject with `Unavailable`. */
  close(): Promise<void>;
}

/** Statements on one connection, on which a transaction can begin. */
export interface Connection extends Sql {
  /** Begins a transaction, which the statements that follow belong to until one of them ends it. */
  begin(): Promise<void>;
}

/** Statements on a database, or on the connection of one transaction. */
export interface Sql {
  /**
   * Runs one statement; `$1`… stand for `values`. In a transaction, the caller awaits each statement before
   * it sends the next. `timeoutMs` replaces the default limit of the caller's wait; to raise the server's own
   * limit, run `SET LOCAL statement_timeout`.
   */
  query<Row>(text: string, values?: readonly unknown[], timeoutMs?: number): Promise<Row[]>;

  /** Runs several statements without values, with a time limit long enough for migrations. */
  runScript(text: string): Promise<void>;
}

/** Runs `work` between BEGIN and COMMIT on a connection that no other caller uses. */
async function runTransaction<Value>(
  connection: Connection,
  work: (sql: Sql) => Promise<Value>,
): Promise<Value> {
  const watched = new WatchedSql(connection);
  await connection.begin();
  try {
    const value = await work(watched);
    // After a failed statement PostgreSQL turns COMMIT into a silent ROLLBACK. Without this check, work that
    // swallowed the error would report changes as stored.
    if (watched.hasFailed) throw new Error('A statement of this transaction failed unnoticed');
    await connection.query('COMMIT');
    return value;
  } catch (error) {
    // If the rollback fails, the connection and its transaction are gone; the first error is reported.
    await connection.query('ROLLBACK').catch(() => undefined);
    throw error;
  } finally {
    watched.isOver = true;
  }
}

/** Connection of a transaction as its work sees it: records failures, and refuses calls after the end. */
class WatchedSql implements Sql {
  hasFailed = false;
  isOver = false;
  readonly #connection: Sql;

  constructor(connection: Sql) {
    this.#connection = connection;
  }

  query<Row>(text: string, values?: readonly unknown[], timeoutMs?: number): Promise<Row[]> {
    return this.#watch(() => this.#connection.query<Row>(text, values, timeoutMs));
  }

  runScript(text: string): Promise<void> {
    return this.#watch(() => this.#connection.runScript(text));
  }

  async #watch<Value>(call: () => Promise<Value>): Promise<Value> {
    // A late call would run outside the transaction, on a connection that another caller may have by then.
    if (this.isOver) throw new Error('This transaction is over');
    try {
      return await call();
    } catch (error) {
      this.hasFailed = true;
      throw error;
    }
  }
}

// Shared by all implementations: each call runs on a connection of its own; after the close it is refused.

/** Maximum number of attempts of a call that the database undoes; each deadlock takes about a second. */
const ATTEMPTS_MAX = 3;

export abstract class ConnectedDatabase implements Database {
  private closed: Promise<void> | undefined;

  get isClosing(): boolean {
    return this.closed !== undefined;
  }

  query<Row>(text: string, values?: readonly unknown[], timeoutMs?: number): Promise<Row[]> {
    return this.untilDone((sql) => sql.query<Row>(text, values, timeoutMs));
  }

  runScript(text: string): Promise<void> {
    return this.whileOpen((sql) => sql.runScript(text));
  }

  transaction<Value>(work: (sql: Sql) => Promise<Value>): Promise<Value> {
    return this.untilDone((connection) => runTransaction(connection, work));
  }

  close(): Promise<void> {
    this.closed ??= this.shutDown();
    return this.closed;
  }

  /** Runs the work on a connection that nothing else uses. */
  protected abstract withConnection<Value>(
    work: (connection: Connection) => Promise<Value>,
  ): Promise<Value>;

  /** Waits for running work, then releases everything. Called once. */
  protected abstract shutDown(): Promise<void>;

  private async untilDone<Value>(work: (connection: Connection) => Promise<Value>): Promise<Value> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.whileOpen(work);
      } catch (error) {
        if (attempt === ATTEMPTS_MAX || !isUndone(error)) throw error;
      }
    }
  }

  private async whileOpen<Value>(work: (connection: Connection) => Promise<Value>): Promise<Value> {
    if (this.isClosing) throw new Unavailable('ledger', 'the database is closed');
    return this.withConnection(work);
  }
}

// Classification of database errors by SQLSTATE.

/**
 * Class of a database error:
 * - `unavailable`: the database cannot be used now; the same call may succeed later.
 * - `misconfigured`: the server refuses the login or a right, or lacks the database; waiting does not help.
 * - `faulty`: the statement or its values are wrong, which is a bug; or the server had an internal error
 *   (class XX). So the drain drops the check-ins of devices whose statements read a damaged page, until an
 *   operator repairs it. If such errors counted as unavailable, it would stop for all devices.
 */
type SqlStateKind = 'unavailable' | 'misconfigured' | 'faulty';

/** Unavailable SQLSTATE classes: connection, resources, operator, system, and configuration failures. */
const UNAVAILABLE_CLASSES: ReadonlySet<string> = new Set(['08', '53', '57', '58', 'F0']);

/** Unavailable SQLSTATEs of other classes. */
const UNAVAILABLE_STATES: ReadonlySet<string> = new Set([
  '25006', // read-only transaction: a replica, in the middle of a fail-over
  '25P03', // idle-in-transaction timeout: this process was stalled
  '55P03', // lock not available in time
]);

/** SQLSTATEs of calls that the database undid because of others; they count as unavailable. */
export const UNDONE_STATES: ReadonlySet<string> = new Set([
  '40001', // serialization failure
  '40P01', // deadlock: chosen as the victim
]);

/**
 * SQLSTATEs of a missing schema, table, function or type: the address leads to another database, or to one
 * that is being restored. They count as unavailable, because callers drop faulty calls.
 */
const MISSING_OBJECT_STATES: ReadonlySet<string> = new Set(['3F000', '42P01', '42883', '42704']);

const REFUSED_LOGIN_CLASS = '28';
const MISSING_DATABASE = '3D000';
/** SQLSTATE of a missing right: it was revoked, or the server's file system has become read-only. */
export const REFUSED_RIGHT = '42501';
const REFUSED_RIGHTS: ReadonlySet<string> = new Set([REFUSED_RIGHT]);

/** Returns the class of an error from its SQLSTATE. */
export function sqlStateKind(code: string): SqlStateKind {
  if (UNAVAILABLE_CLASSES.has(code.slice(0, 2)) || UNAVAILABLE_STATES.has(code)) {
    return 'unavailable';
  }
  if (MISSING_OBJECT_STATES.has(code) || UNDONE_STATES.has(code)) return 'unavailable';
  const isRefused = code === MISSING_DATABASE || code === REFUSED_RIGHT;
  return isRefused || code.startsWith(REFUSED_LOGIN_CLASS) ? 'misconfigured' : 'faulty';
}

/** Returns whether a call failed because a schema, table, function or type is missing. */
export function isMissingObject(error: unknown): boolean {
  return isOneOf(MISSING_OBJECT_STATES, error);
}

/** Returns whether the database refused a call for a right that its account lacks. */
export function isRefusedRight(error: unknown): boolean {
  return isOneOf(REFUSED_RIGHTS, error);
}

/** Returns whether the database undid a call, so that it may run again. */
function isUndone(error: unknown): boolean {
  return isOneOf(UNDONE_STATES, error);
}

function isOneOf(states: ReadonlySet<string>, error: unknown): boolean {
  if (!(error instanceof Unavailable)) return false;
  const { cause } = error;
  if (typeof cause !== 'object' || cause === null || !('code' in cause)) return false;
  return typeof cause.code === 'string' && states.has(cause.code);
}

/**
 * Runs `work` in a transaction without JIT. PostgreSQL overestimates the cost of statements that read
 * signals, even with good statistics, and would compile for a second what runs in a quarter of one.
 */
export function withoutCompiling<Value>(
  database: Database,
  work: (sql: Sql) => Promise<Value>,
): Promise<Value> {
  return database.transaction(async (sql) => {
    await compileNothing(sql);
    return work(sql);
  });
}

/** Switches JIT off for the rest of the transaction. */
export async function compileNothing(sql: Sql): Promise<void> {
  await sql.query('SET LOCAL jit = off');
}
