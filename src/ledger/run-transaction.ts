// BEGIN, the work, COMMIT or ROLLBACK: the same on every connection.

import type { Sql } from './database.ts';

/** Runs `work` between BEGIN and COMMIT on a connection that nobody else uses meanwhile. */
export async function runTransaction<Value>(
  connection: Sql,
  work: (sql: Sql) => Promise<Value>,
): Promise<Value> {
  const watched = new WatchedSql(connection);
  await connection.query('BEGIN');
  try {
    const value = await work(watched);
    // PostgreSQL answers COMMIT with a silent ROLLBACK once a statement has failed: work that swallowed
    // the error would report as stored what is not.
    if (watched.hasFailed) throw new Error('A statement of this transaction failed unnoticed');
    await connection.query('COMMIT');
    return value;
  } catch (error) {
    // When this fails too, the connection is gone and the transaction with it: the first error counts.
    await connection.query('ROLLBACK').catch(() => undefined);
    throw error;
  } finally {
    watched.isOver = true;
  }
}

/** The connection as the work sees it. */
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
    // A stray call would run outside, on a connection that already serves somebody else.
    if (this.isOver) throw new Error('This transaction is over');
    try {
      return await call();
    } catch (error) {
      this.hasFailed = true;
      throw error;
    }
  }
}
