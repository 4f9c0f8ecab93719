// Database on a pool of PostgreSQL connections.
//
// A transaction pooler such as PgBouncer gives each transaction another session. So no call relies on session
// state: no settings, no named statements, no locks, no LISTEN.
//
// A connection on which a call did not end cleanly is destroyed, because the state of its session is unknown.
// The server's time limits are shorter than the client's, so that a slow statement costs no connection; the
// client's are for a server that does not answer at all.

import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { LockedTooLong, Unavailable } from '../../../contract/store-fault.ts';
import {
  ConnectedDatabase,
  type Connection,
  type Database,
  REFUSED_RIGHT,
  sqlStateKind,
  UNDONE_STATES,
} from './database.ts';
import { HostsPool, type HostsPoolSettings } from './hosts-pool.ts';
import type { Greeter } from './record-database.ts';

/** Default maximum number of connections. */
const CONNECTIONS_MAX = 10;
/** Longest wait for a new connection, and for a free one of the pool. */
const CONNECT_TIMEOUT_MS = 2000;
const STATEMENT_TIMEOUT_MS = 4500;
const ANSWER_TIMEOUT_MS = 5000;
/** Longest time that a node that stalls inside a transaction keeps its locks. */
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 5000;
const SCRIPT_TIMEOUT_MS = 10 * 60_000;
const KEEP_ALIVE_DELAY_MS = 10_000;
const GOODBYE_TIMEOUT_MS = 1000;

/** A script, so that one round trip begins a transaction and sets its limits. */
const BEGIN = `BEGIN;
  SET LOCAL statement_timeout = ${STATEMENT_TIMEOUT_MS};
  SET LOCAL idle_in_transaction_session_timeout = ${IDLE_IN_TRANSACTION_TIMEOUT_MS}`;

/** SQLSTATE of a statement that waited for a lock until `lock_timeout`. */
const LOCK_NOT_AVAILABLE = '55P03';
/** SQLSTATEs after which a session is still usable; 57014 is a statement timeout. */
const SOUND_STATES: ReadonlySet<string> = new Set([
  ...['57014', LOCK_NOT_AVAILABLE, REFUSED_RIGHT],
  ...UNDONE_STATES,
]);

const SETTINGS: HostsPoolSettings = {
  application_name: 'sluice',
  connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  query_timeout: ANSWER_TIMEOUT_MS,
  keepAlive: true,
  keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
};

type PgDatabaseOptions = {
  /** Address of a server, or of several, separated by commas, of which one takes writes. */
  readonly url: string;
  /** Maximum number of connections; default: 10. */
  readonly connectionsMax?: number | undefined;
  /** Called with the error of each connection that broke while idle. */
  readonly onFault: (error: unknown) => void;
  /** Examines each connection before use; without it, every connection is used. */
  readonly greeter?: Greeter;
};

/** Creates the pool; it connects on first use: the server may be down. Throws for an invalid address. */
export function openPgDatabase(options: PgDatabaseOptions): MovableDatabase {
  return new PgDatabase(options);
}

/** Database whose address may change at run time. */
export type MovableDatabase = Database & {
  /**
   * Makes new connections go to another address. Running calls finish on their old connections, which are
   * then closed; until then there may be twice as many. Throws for an invalid address.
   */
  moveTo(url: string): void;
  poolLoad(): PoolLoad;
};

/** Numbers of busy and idle connections, and of calls that wait for one. */
export type PoolLoad = { readonly busy: number; readonly idle: number; readonly waiting: number };

class PgDatabase extends ConnectedDatabase implements MovableDatabase {
  readonly #options: PgDatabaseOptions;
  #url: string;
  #pool: HostsPool;
  /** Pools of earlier addresses that are ending. */
  readonly #ending = new Set<Promise<void>>();
  readonly #running = new Set<Promise<unknown>>();
  readonly #connected = new Set<Promise<void>>();
  /** Identity of the database of each examined connection. */
  readonly #identities = new WeakMap<pg.PoolClient, string>();

  constructor(options: PgDatabaseOptions) {
    super();
    this.#options = options;
    this.#url = options.url;
    this.#pool = this.#openPool(options.url);
  }

  moveTo(url: string): void {
    if (url === this.#url || this.isClosing) return;
    const former = this.#pool;
    this.#pool = this.#openPool(url);
    this.#url = url;
    const ending = this.#endAfter([...this.#running], former);
    this.#ending.add(ending);
    void ending.then(() => this.#ending.delete(ending));
  }

  poolLoad(): PoolLoad {
    const { totalCount, idleCount: idle, waitingCount: waiting } = this.#pool;
    return { busy: totalCount - idle, idle, waiting };
  }

  #openPool(url: string): HostsPool {
    const { connectionsMax: max = CONNECTIONS_MAX } = this.#options;
    const pool = new HostsPool(url, { ...SETTINGS, max });
    pool.on('connect', (client) => this.#watch(client));
    pool.on('error', (error) => {
      // The pool attaches the connection with its settings to the error, and a log would print the password.
      Reflect.deleteProperty(error, 'client');
      // An error of a pool that is ending does not matter.
      if (!this.isClosing && pool === this.#pool) this.#options.onFault(error);
    });
    return pool;
  }

  /** Ends a pool after these calls; ending it earlier would make waiting calls time out. */
  async #endAfter(calls: readonly Promise<unknown>[], pool: pg.Pool): Promise<void> {
    await Promise.allSettled(calls);
    await pool.end();
  }

  protected async shutDown(): Promise<void> {
    await Promise.all([...this.#ending, this.#endAfter([...this.#running], this.#pool)]);
    // `end` resolves once the goodbyes are sent; a dead server never answers them.
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

  protected withConnection<Value>(
    work: (connection: Connection) => Promise<Value>,
  ): Promise<Value> {
    const running = this.#runOnConnection(work);
    this.#running.add(running);
    const forget = () => this.#running.delete(running);
    running.then(forget, forget);
    return running;
  }

  async #runOnConnection<Value>(work: (connection: Connection) => Promise<Value>): Promise<Value> {
    const client = await this.#connect();
    const connection = new PgConnection(client);
    try {
      await this.#greet(client, connection);
      return await work(connection);
    } finally {
      client.release(connection.isBroken);
    }
  }

  /** Takes a connection. During an examination, closes those identified before, which are outdated. */
  async #connect(): Promise<pg.PoolClient> {
    for (;;) {
      const client = await this.#pool.take().catch((error: unknown) => {
        // Every failure to connect counts as unavailable, even a refused password.
        throw new Unavailable('ledger', error);
      });
      const { greeter } = this.#options;
      const isExamining = greeter !== undefined && greeter.identity === undefined;
      if (!isExamining || !this.#identities.has(client)) return client;
      client.release(true);
    }
  }

  /** Rejects, and destroys the connection, when it leads to another database than the admitted one. */
  async #greet(client: pg.PoolClient, connection: PgConnection): Promise<void> {
    const { greeter } = this.#options;
    const expected = greeter?.identity;
    if (expected === undefined || this.#identities.get(client) === expected) return;
    try {
      const identity = await greeter?.greet(connection);
      if (identity !== undefined) this.#identities.set(client, identity);
    } catch (error) {
      connection.isBroken = true;
      throw error;
    }
  }
}

class PgConnection implements Connection {
  /** Whether this connection must not be used again. */
  isBroken = false;
  readonly #client: pg.PoolClient;
  /** Whether a transaction has set the time limits; outside one, each statement sets its own. */
  #isInTransaction = false;

  constructor(client: pg.PoolClient) {
    this.#client = client;
  }

  async query<Row>(
    text: string,
    values: readonly unknown[] = [],
    timeoutMs = ANSWER_TIMEOUT_MS,
  ): Promise<Row[]> {
    const result = this.#isInTransaction
      ? await this.#send({ text, values: [...values], query_timeout: timeoutMs })
      : await this.#ask(
          limitedQuery(
            this.#client,
            { text, values },
            { serverMs: STATEMENT_TIMEOUT_MS, answerMs: timeoutMs },
          ),
        );
    return result.rows as Row[];
  }

  async begin(): Promise<void> {
    await this.#send({ text: BEGIN });
    this.#isInTransaction = true;
  }

  async runScript(text: string): Promise<void> {
    await this.#send({ text, query_timeout: SCRIPT_TIMEOUT_MS });
  }

  /** Sends a query. The driver's types lack `query_timeout`. */
  #send(query: pg.QueryConfig & { query_timeout?: number }): Promise<pg.QueryResult> {
    return this.#ask(this.#client.query(query));
  }

  /** Turns an error of the connection into `Unavailable`. */
  async #ask(answer: Promise<pg.QueryResult>): Promise<pg.QueryResult> {
    try {
      return await answer;
    } catch (error) {
      if (!isConnectionFault(error)) throw error;
      const state = error instanceof pg.DatabaseError ? error.code : undefined;
      this.isBroken = state === undefined || !SOUND_STATES.has(state);
      if (state === LOCK_NOT_AVAILABLE) throw new LockedTooLong('ledger', error);
      throw new Unavailable('ledger', error);
    }
  }
}

/** Severities of errors with which a server, or a pool in front of it, ends the session. */
const ENDING_SEVERITIES: ReadonlySet<string | undefined> = new Set(['FATAL', 'PANIC']);

/**
 * Returns whether an error concerns the connection, not the statement. Errors of the server have a SQLSTATE;
 * a pool in front of it ends sessions with codes such as XX000 or ECHECKOUTTIMEOUT when it has no connection
 * left. All other errors are the driver's and concern the connection, except JavaScript's TypeError and
 * RangeError, which are bugs (a value that cannot be sent).
 */
function isConnectionFault(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) {
    if (ENDING_SEVERITIES.has(error.severity)) return true;
    return sqlStateKind(error.code ?? '') !== 'faulty';
  }
  return !(error instanceof TypeError || error instanceof RangeError);
}

// A single statement with a server-side time limit that needs no session state, because a transaction pooler
// such as PgBouncer refuses settings at the start of a session.
//
// A separate statement sets the limit. Both go out together before one Sync, so the server runs them in one
// transaction and answers them together: no extra round trip, unlike BEGIN and COMMIT.

/** Methods of the driver's queries that its types leave out. */
interface DriverQuery {
  submit(connection: pg.Connection): Error | null;
  handleDataRow(message: unknown): void;
  handleCommandComplete(message: unknown, connection: unknown): void;
}

type Settled = (error: Error | undefined, result: pg.QueryResult) => void;

type QuerySettings = pg.QueryConfig & { readonly queryMode: 'extended' };

const DriverQuery = pg.Query as unknown as new (
  settings: QuerySettings,
  onSettled: Settled,
) => DriverQuery;

type StatementLimits = {
  /** Milliseconds after which the server cancels the statement. */
  readonly serverMs: number;
  /** Milliseconds after which the driver stops waiting. */
  readonly answerMs: number;
};

/** Runs one statement outside a transaction. Rejects with SQLSTATE 57014 after the server's limit. */
function limitedQuery(
  client: pg.ClientBase,
  { text, values }: { readonly text: string; readonly values: readonly unknown[] },
  limits: StatementLimits,
): Promise<pg.QueryResult> {
  return new Promise((resolve, reject) => {
    const settings = { text, values: [...values], queryMode: 'extended' as const };
    client.query(
      new LimitedQuery(settings, limits, (error, result) => {
        if (error) reject(error);
        else resolve(result);
      }),
    );
  });
}

class LimitedQuery extends DriverQuery {
  /** Time limit, which the driver reads. */
  readonly query_timeout: number;
  readonly #serverMs: number;
  /** Whether the limit is set, so that the next answers belong to the caller's statement. */
  #isLimited = false;

  constructor(settings: QuerySettings, limits: StatementLimits, onSettled: Settled) {
    super(settings, onSettled);
    this.query_timeout = limits.answerMs;
    this.#serverMs = limits.serverMs;
  }

  override submit(connection: pg.Connection): Error | null {
    const text = `SELECT set_config('statement_timeout', '${this.#serverMs}', true)`;
    // Corked until the caller's statement is there as well, so that one packet carries both.
    connection.stream.cork();
    try {
      connection.parse({ name: '', text, types: [] }, true);
      connection.bind({}, true);
      connection.execute({}, true);
      return super.submit(connection);
    } finally {
      connection.stream.uncork();
    }
  }

  override handleDataRow(message: unknown): void {
    if (this.#isLimited) super.handleDataRow(message);
  }

  override handleCommandComplete(message: unknown, connection: unknown): void {
    if (this.#isLimited) super.handleCommandComplete(message, connection);
    else this.#isLimited = true;
  }
}
