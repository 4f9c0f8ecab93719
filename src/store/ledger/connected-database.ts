// The part of a database that does not depend on what is behind it: each call gets a connection for itself,
// and none gets one after the close.

import { Unavailable } from '../../contract/unavailable.ts';
import type { Connection, Database, Sql } from './database.ts';
import { runTransaction } from './run-transaction.ts';
import { isUndone } from './sql-state-kind.ts';

/** Attempts of a call that the database undoes because of what others do, which may take a second each. */
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

  /** Runs the work on a connection that nothing else uses until the work is done. */
  protected abstract withConnection<Value>(
    work: (connection: Connection) => Promise<Value>,
  ): Promise<Value>;

  /** Waits for the work that runs, then gives everything back. Called once. */
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
