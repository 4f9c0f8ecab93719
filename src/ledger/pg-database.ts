// The database as a pool of PostgreSQL connections.
//
// A connection on which a call did not end cleanly is destroyed, never returned to the pool: what is left
// of its session is unknown. Time limits stand on both sides. The server's come first, so that a slow
// statement costs no connection; ours is for a server that does not answer at all.

import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { Unavailable } from '../ports/unavailable.ts';
import type { Database, Sql } from './database.ts';
import { runTransaction } from './run-transaction.ts';
import { sqlStateKind } from './sql-state-kind.ts';

const CONNECTIONS_MAX = 10;
/** Also the longest wait for a free connection of the pool. */
const CONNECT_TIMEOUT_MS = 2000;
const STATEMENT_TIMEOUT_MS = 4500;
const ANSWER_TIMEOUT_MS = 5000;
/** A node that stalls inside a transaction must not hold its locks for the others. */
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 5000;
const SCRIPT_TIMEOUT_MS = 10 * 60_000;
const KEEP_ALIVE_DELAY_MS = 10_000;
const GOODBYE_TIMEOUT_MS = 1000;

/** Cancelled by `statement_timeout`: the session itself is sound. */
const QUERY_CANCELED = '57014';

export type PgDatabaseOptions = {
  readonly url: string;
  /** Hears of connections that broke while nobody used them. */
  readonly onFault: (error: unknown) => void;
};

/** Opens no connection yet: the server may be away. Throws when the address is none. */
export function openPgDatabase({ url, onFault }: PgDatabaseOptions): Database {
  const settings = poolSettings(url);
  refuseBadAddress(settings);
  const pool = new pg.Pool(settings);
  const database = new PgDatabase(pool);
  pool.on('error', (error) => {
    // The pool hangs the whole connection onto it, settings included, which a log would print.
    Reflect.deleteProperty(error, 'client');
    if (!database.isClosing) onFault(error);
  });
  return database;
}

function poolSettings(connectionString: string): pg.PoolConfig {
  return {
    connectionString,
    application_name: 'sluice',
    max: CONNECTIONS_MAX,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    query_timeout: ANSWER_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
  };
}

/** The driver's own error would carry the address, and the password in it, into a log. */
function refuseBadAddress(settings: pg.PoolConfig): void {
  try {
    new pg.Client(settings);
  } catch {
    throw new Error('The database URL is not a valid PostgreSQL address');
  }
}

class PgDatabase implements Database {
  readonly #pool: pg.Pool;
  readonly #running = new Set<Promise<unknown>>();
  readonly #connected = new Set<Promise<void>>();
  #closed: Promise<void> | undefined;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
    pool.on('connect', (client) => this.#watch(client));
  }

  get isClosing(): boolean {
    return this.#closed !== undefined;
  }

  query<Row>(text: string, values?: readonly unknown[], timeoutMs?: number): Promise<Row[]> {
    return this.#withConnection((sql) => sql.query<Row>(text, values, timeoutMs));
  }

  runScript(text: string): Promise<void> {
    return this.#withConnection((sql) => sql.runScript(text));
  }

  transaction<Value>(work: (sql: Sql) => Promise<Value>): Promise<Value> {
    return this.#withConnection((sql) => runTransaction(sql, work));
  }

  close(): Promise<void> {
    this.#closed ??= this.#drain();
    return this.#closed;
  }

  async #drain(): Promise<void> {
    // The pool would leave those that still wait for a connection to their time limit.
    await Promise.allSettled(this.#running);
    await this.#pool.end();
    // The pool is satisfied once it has said goodbye; a server that is gone never answers that.
    await Promise.race([
      Promise.all(this.#connected),
      sleep(GOODBYE_TIMEOUT_MS, undefined, { ref: false }),
    ]);
  }

  #watch(client: pg.PoolClient): void {
    // Without a listener, a connection that breaks in use would end the process; its query rejects anyway.
    client.on('error', () => undefined);
    const ended = new Promise<void>((resolve) => client.once('end', resolve));
    this.#connected.add(ended);
    void ended.then(() => this.#connected.delete(ended));
  }

  #withConnection<Value>(work: (sql: Sql) => Promise<Value>): Promise<Value> {
    if (this.#closed !== undefined) {
      return Promise.reject(new Unavailable('ledger', 'the connection pool is closed'));
    }
    const running = this.#runOnConnection(work);
    this.#running.add(running);
    const settle = () => this.#running.delete(running);
    running.then(settle, settle);
    return running;
  }

  async #runOnConnection<Value>(work: (sql: Sql) => Promise<Value>): Promise<Value> {
    const client = await this.#pool.connect().catch((error: unknown) => {
      // Whatever keeps us from a connection keeps us from the data: also a refused password.
      throw new Unavailable('ledger', describable(error));
    });
    const connection = new PgConnection(client);
    try {
      return await work(connection);
    } finally {
      client.release(connection.isBroken);
    }
  }
}

class PgConnection implements Sql {
  /** True once nobody should use this connection again. */
  isBroken = false;
  readonly #client: pg.PoolClient;

  constructor(client: pg.PoolClient) {
    this.#client = client;
  }

  async query<Row>(
    text: string,
    values: readonly unknown[] = [],
    timeoutMs = ANSWER_TIMEOUT_MS,
  ): Promise<Row[]> {
    const result = await this.#send({ text, values: [...values], query_timeout: timeoutMs });
    return result.rows as Row[];
  }

  async runScript(text: string): Promise<void> {
    await this.#send({ text, query_timeout: SCRIPT_TIMEOUT_MS });
  }

  /** `query_timeout` of a single query is missing from the driver's types. */
  async #send(query: pg.QueryConfig & { query_timeout?: number }): Promise<pg.QueryResult> {
    try {
      return await this.#client.query(query);
    } catch (error) {
      if (!isConnectionFault(error)) throw error;
      this.isBroken = !(error instanceof pg.DatabaseError && error.code === QUERY_CANCELED);
      throw new Unavailable('ledger', describable(error));
    }
  }
}

/**
 * The server's errors tell by their SQLSTATE. The driver's own have no class to know them by; they are all
 * about the connection, except the language's errors, which are bugs (a value that cannot be sent).
 */
function isConnectionFault(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) {
    return sqlStateKind(error.code ?? '') !== 'faulty';
  }
  return !(error instanceof TypeError || error instanceof RangeError);
}

/** A host with several addresses fails with an AggregateError, which has a code but no message. */
function describable(error: unknown): unknown {
  if (error instanceof AggregateError && error.message === '') return error.errors[0] ?? error;
  return error;
}
