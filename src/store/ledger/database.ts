// Interface of the database that the ledger runs on: queries, and transactions on one connection. Its
// implementations are a pool of PostgreSQL connections, and PGlite in a process of its own.
//
// Both reject with `Unavailable` when the database cannot be reached or does not answer in time. When a
// statement is at fault, which is a bug, they reject with the database's own error (`code`, `constraint`).

export interface Database extends Sql {
  /**
   * Runs `work` in a transaction on a connection of its own. Commits when `work` resolves; rolls back when it
   * rejects, or when a statement failed although `work` went on. The `sql` that `work` gets cannot be used
   * after the transaction. A refusal that `work` returns as a value commits; `atomically` rolls it back.
   * `work` runs again, from the beginning, when others made the database undo it (a deadlock).
   */
  transaction<Value>(work: (sql: Sql) => Promise<Value>): Promise<Value>;

  /** Waits for running calls, then releases the connections. Later calls reject with `Unavailable`. */
  close(): Promise<void>;
}

/** Statements on one connection, on which a transaction can begin. */
export interface Connection extends Sql {
  /** Begins a transaction: the statements that follow are in it until one of them ends it. */
  begin(): Promise<void>;
}

/** Statements on a database, or on the connection of one transaction. */
export interface Sql {
  /**
   * Runs one statement; `$1`… stand for `values`. In a transaction, the caller awaits each statement before
   * it sends the next one. `timeoutMs` replaces the usual limit of the caller's wait where that is too short;
   * the server's own limit is raised by `SET LOCAL statement_timeout`.
   */
  query<Row>(text: string, values?: readonly unknown[], timeoutMs?: number): Promise<Row[]>;

  /** Runs several statements that take no values, with a time limit that is long enough for migrations. */
  runScript(text: string): Promise<void>;
}
