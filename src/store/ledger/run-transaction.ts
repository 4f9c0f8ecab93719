// Runs a transaction on a connection: BEGIN, the work, then COMMIT or ROLLBACK.

import type { Connection, Sql } from './database.ts';

/** Runs `work` between BEGIN and COMMIT on a connection that no other caller uses meanwhile. */
export async function runTransaction<Value>(
  connection: Connection,
  work: (sql: Sql) => Promise<Value>,
): Promise<Value> {
  const watched = new WatchedSql(connection);
  await connection.begin();
  try {
    const value = await work(watched);
    // PostgreSQL turns COMMIT into a silent ROLLBACK once a statement has failed: work that swallowed the
    // error would report changes as stored that are not.
    if (watched.hasFailed) throw new Error('A statement of this transaction failed unnoticed');
    await connection.query('COMMIT');
    return value;
  } catch (error) {
    // If the rollback fails too, the connection and its transaction are gone; the first error is reported.
    await connection.query('ROLLBACK').catch(() => undefined);
    throw error;
  } finally {
    watched.isOver = true;
  }
}

/**
 * Connection of a transaction as its work sees it: notes failed statements, and refuses calls after the end.
 */
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
    // A late call would run outside the transaction, on a connection that another caller may use by then.
    if (this.isOver) throw new Error('This transaction is over');
    try {
      return await call();
    } catch (error) {
      this.hasFailed = true;
      throw error;
    }
  }
}
