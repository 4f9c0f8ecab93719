// The embedded database: PGlite in a process of its own, because it runs statements synchronously on the
// thread it is on. It has one session, so a transaction gets the connection for itself and everybody else
// waits.
//
//   opening ──▶ open ──▶ restarting ⇄ (the process fails to start)      calls while restarting: Unavailable
//                ▲            │
//                └────────────┘       from any of them ──▶ closed

import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Unavailable } from '../ports/unavailable.ts';
import type { Database, Sql } from './database.ts';
import { ExclusiveQueue } from './exclusive-queue.ts';
import { type PgliteChild, startPgliteChild } from './pglite-child.ts';
import { runTransaction } from './run-transaction.ts';

const BACK_OFF_MIN_MS = 100;
const BACK_OFF_MAX_MS = 5000;
/** A process that lived this long did not die of its start: the next one is started without much delay. */
const SOUND_LIFE_MS = 10_000;

export type PgliteDatabaseOptions = {
  readonly directory: string;
  /** Hears when the process ended by itself, and when it could not be started again. */
  readonly onFault: (error: unknown) => void;
};

/** A life of the process with those who wait for it: its end sends them away, and none moves to the next. */
type Session = { readonly child: PgliteChild; readonly queue: ExclusiveQueue };

/** Rejects with one sentence when the directory cannot be opened, e.g. because another process has it. */
export async function openPgliteDatabase(options: PgliteDatabaseOptions): Promise<Database> {
  await mkdir(dirname(options.directory), { recursive: true });
  return new PgliteDatabase(options, await startPgliteChild(options.directory));
}

class PgliteDatabase implements Database {
  readonly #options: PgliteDatabaseOptions;
  readonly #closing = new AbortController();
  /** Undefined while restarting. */
  #session: Session | undefined;
  #restarting: Promise<void> = Promise.resolve();
  #backOffMs = BACK_OFF_MIN_MS;
  #closed: Promise<void> | undefined;

  constructor(options: PgliteDatabaseOptions, child: PgliteChild) {
    this.#options = options;
    this.#use(child);
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
    this.#closed ??= this.#shutDown();
    return this.#closed;
  }

  async #withConnection<Value>(work: (sql: Sql) => Promise<Value>): Promise<Value> {
    if (this.#closed !== undefined) throw new Unavailable('ledger', 'the database is closed');
    if (this.#session === undefined) {
      // Not worth waiting for: a start may take long, and the caller has better things to do meanwhile.
      throw new Unavailable('ledger', 'the embedded database is starting again');
    }
    const { child, queue } = this.#session;
    return queue.run(() => work(child));
  }

  #use(child: PgliteChild): void {
    const since = performance.now();
    const queue = new ExclusiveQueue();
    this.#session = { child, queue };
    void child.ended.then((how) => {
      this.#session = undefined;
      if (this.#closing.signal.aborted) return;
      const error = new Error(`The embedded database's process ended (${how})`);
      queue.rejectWaiting(error);
      this.#options.onFault(error);
      if (performance.now() - since >= SOUND_LIFE_MS) this.#backOffMs = BACK_OFF_MIN_MS;
      this.#restarting = this.#restart();
    });
  }

  async #restart(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await sleep(this.#backOffMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      this.#backOffMs = Math.min(this.#backOffMs * 2, BACK_OFF_MAX_MS);
      try {
        this.#use(await startPgliteChild(this.#options.directory));
        return;
      } catch (error) {
        this.#options.onFault(error);
      }
    }
  }

  async #shutDown(): Promise<void> {
    await this.#session?.queue.whenIdle();
    this.#closing.abort();
    // A process that is just being started is awaited, so that none is left behind.
    await this.#restarting;
    await this.#session?.child.close();
  }
}
