// What the ledger needs of a database, and nothing else: queries, and transactions on one connection.
// Implementations: a pool of PostgreSQL connections, and PGlite in a process of its own.
//
// Both reject with `Unavailable` when the database cannot be reached or does not answer in time, and with
// the database's own error (`code`, `constraint`) when a statement is at fault, which is a bug.

export interface Database extends Sql {
  /**
   * Runs `work` in a transaction on a connection of its own. Committed when `work` resolves; rolled back
   * when it rejects, or when a statement failed although `work` went on. The `sql` it gets is of no use
   * afterwards. A refusal that `work` returns as a value commits: see `atomically`.
   */
  transaction<Value>(work: (sql: Sql) => Promise<Value>): Promise<Value>;

  /** Waits for what runs, then releases connections. Calls from then on are `Unavailable`. */
  close(): Promise<void>;
}

export interface Sql {
  /**
   * Runs one statement; `$1`… stand for `values`. One at a time: the caller awaits before the next.
   * `timeoutMs` is how long the caller waits where the usual limit is too short; the server's own limit is
   * raised by `SET LOCAL statement_timeout`.
   */
  query<Row>(text: string, values?: readonly unknown[], timeoutMs?: number): Promise<Row[]>;

  /** Runs several statements that take no values, without a time limit: for migrations. */
  runScript(text: string): Promise<void>;
}
