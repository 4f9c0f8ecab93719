// Database that is migrated, as soon as it can be reached, before it answers any other call.

import { type BackOff, backOffMs } from '../flow/back-off.ts';
import { pause } from '../flow/pause.ts';
import { Unavailable } from '../ports/unavailable.ts';
import type { Database, Sql } from './database.ts';
import { migrate } from './migrate.ts';
import { sqlStateKind } from './sql-state-kind.ts';

const BACK_OFF: BackOff = { minMs: 250, maxMs: 5000 };

export type MigratedDatabaseOptions = {
  /** Called with the error of each attempt that found the database unreachable. */
  readonly onFault: (error: unknown) => void;
  /**
   * Called at most once, and only after the first attempt, with the error that ended the migration for good.
   */
  readonly onFatal: (error: unknown) => void;
};

/**
 * Makes one attempt to migrate, and goes on trying in the background when the database cannot be reached;
 * until an attempt succeeds, every call rejects with `Unavailable`. Closes the database and rejects when
 * waiting would not help.
 */
export async function migrateDatabase(
  database: Database,
  options: MigratedDatabaseOptions,
): Promise<Database> {
  const migrated = new MigratedDatabase(database, options);
  try {
    await migrated.start();
    return migrated;
  } catch (error) {
    await migrated.close();
    throw error;
  }
}

class MigratedDatabase implements Database {
  readonly #database: Database;
  readonly #options: MigratedDatabaseOptions;
  readonly #closing = new AbortController();
  #retrying: Promise<void> = Promise.resolve();
  #isMigrated = false;

  constructor(database: Database, options: MigratedDatabaseOptions) {
    this.#database = database;
    this.#options = options;
  }

  async start(): Promise<void> {
    if (!(await this.#attempt())) this.#retrying = this.#retry();
  }

  async query<Row>(text: string, values?: readonly unknown[], timeoutMs?: number): Promise<Row[]> {
    this.#demandMigrated();
    return this.#database.query<Row>(text, values, timeoutMs);
  }

  async runScript(text: string): Promise<void> {
    this.#demandMigrated();
    return this.#database.runScript(text);
  }

  async transaction<Value>(work: (sql: Sql) => Promise<Value>): Promise<Value> {
    this.#demandMigrated();
    return this.#database.transaction(work);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    // The promise is rejected when `onFatal` threw, which it may do to end the process.
    await this.#retrying.catch(() => undefined);
    await this.#database.close();
  }

  #demandMigrated(): void {
    if (this.#isMigrated) return;
    throw new Unavailable('ledger', 'the database was not reached and migrated yet');
  }

  /**
   * Returns true when the database is migrated, false when another attempt may succeed; rejects otherwise.
   */
  async #attempt(): Promise<boolean> {
    try {
      await migrate(this.#database);
      this.#isMigrated = true;
      return true;
    } catch (error) {
      if (!(error instanceof Unavailable) || isMisconfigured(error)) throw error;
      this.#options.onFault(error);
      return false;
    }
  }

  async #retry(): Promise<void> {
    const { signal } = this.#closing;
    for (let failures = 1; ; failures++) {
      await pause(backOffMs(BACK_OFF, failures), signal);
      if (signal.aborted) return;
      try {
        if (await this.#attempt()) return;
      } catch (error) {
        this.#options.onFatal(error);
        return;
      }
    }
  }
}

/**
 * Whether the server answered but refused the connection: a wrong password or missing database is no outage.
 */
function isMisconfigured({ cause }: Unavailable): boolean {
  if (typeof cause !== 'object' || cause === null || !('code' in cause)) return false;
  return typeof cause.code === 'string' && sqlStateKind(cause.code) === 'misconfigured';
}
