// A database that is migrated before anything else is asked of it, as soon as it can be reached.

import { setTimeout as sleep } from 'node:timers/promises';
import { Unavailable } from '../ports/unavailable.ts';
import type { Database, Sql } from './database.ts';
import { migrate } from './migrate.ts';
import { sqlStateKind } from './sql-state-kind.ts';

const BACK_OFF_MIN_MS = 250;
const BACK_OFF_MAX_MS = 5000;

export type MigratedDatabaseOptions = {
  /** Hears of each attempt that found the database unreachable. */
  readonly onFault: (error: unknown) => void;
  /** Hears, at most once and only after the first attempt, that migrating failed for good. */
  readonly onFatal: (error: unknown) => void;
};

/**
 * Makes one attempt, and goes on trying in the background when the database cannot be reached: until one
 * succeeds every call is `Unavailable`. Rejects, with the database closed, when waiting would not help.
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
    // Rejected when `onFatal` threw, which is how it may choose to end the process.
    await this.#retrying.catch(() => undefined);
    await this.#database.close();
  }

  #demandMigrated(): void {
    if (this.#isMigrated) return;
    throw new Unavailable('ledger', 'the database was not reached and migrated yet');
  }

  /** True when migrated, false when it is worth another attempt; rejects when it is not. */
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
    for (let backOffMs = BACK_OFF_MIN_MS; ; backOffMs = Math.min(backOffMs * 2, BACK_OFF_MAX_MS)) {
      await sleep(backOffMs, undefined, { signal }).catch(() => undefined);
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

/** The server answered and refused us: a wrong password or a missing database, which are not outages. */
function isMisconfigured({ cause }: Unavailable): boolean {
  if (typeof cause !== 'object' || cause === null || !('code' in cause)) return false;
  return typeof cause.code === 'string' && sqlStateKind(cause.code) === 'misconfigured';
}
