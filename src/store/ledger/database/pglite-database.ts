// Embedded database: PGlite in a process of its own, because it runs statements synchronously and would block
// the serving thread. It has one session, so calls wait while a transaction runs. While the process restarts,
// every call rejects with `Unavailable`.

import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Unavailable } from '../../../contract/store-fault.ts';
import { ConcurrencyLimit } from '../../../flow/concurrency-limit.ts';
import {
  type ChildEnd,
  ChildService,
  type ForkedChild,
  type NoCalls,
} from '../../../process/child-process.ts';
import { ConnectedDatabase, type Connection, type Database, sqlStateKind } from './database.ts';

/** Longest start. It includes creating a database and waiting for the lock of a process that is ending. */
const START_MS_MAX = 60_000;
const CLOSE_MS_MAX = 5000;
const CALLS_WAITING_MAX = 10_000;
/**
 * Arguments of Node.js for the process. V8 optimizes a WebAssembly function after it has executed this many
 * bytes of code. With the 1.8 million of Node 20 a start took 1.7 to 2.2 s of processor time, with 50 million
 * 1.1 to 1.3 s (three and two starts, on a busy machine); 6,000 statements afterwards were not slower (one
 * run).
 */
const NODE_ARGUMENTS = ['--wasm-tiering-budget=50000000'];
/** Longest wait for the connection; as long as a PostgreSQL answer may take. */
const TURN_WAIT_MS_MAX = 5000;

type PgliteDatabaseOptions = {
  readonly directory: string;
  /** Called with the error when the process ended by itself or could not restart. */
  readonly onFault: (error: unknown) => void;
};

/** Database whose files can be copied while it is used. */
export type EmbeddedDatabase = Database & {
  /** Copies the files into a new directory; other calls wait meanwhile. */
  copyTo(directory: string): Promise<void>;
};

/** Connection to one process and the calls that wait for it; they are rejected when the process ends. */
type Session = { readonly connection: PgliteConnection; readonly turns: ConcurrencyLimit };

/** Starts the embedded database. Rejects with a sentence for the operator if it cannot be opened. */
export async function openPgliteDatabase(
  options: PgliteDatabaseOptions,
): Promise<EmbeddedDatabase> {
  await mkdir(dirname(options.directory), { recursive: true });
  const database = new PgliteDatabase(options);
  await database.start();
  return database;
}

class PgliteDatabase extends ConnectedDatabase implements EmbeddedDatabase {
  readonly #onFault: (error: unknown) => void;
  readonly #service: ChildService<CallsToPglite, NoCalls>;
  /** Undefined while the process is not ready. */
  #session: Session | undefined;

  constructor({ directory, onFault }: PgliteDatabaseOptions) {
    super();
    this.#onFault = onFault;
    this.#service = new ChildService({
      name: "the embedded database's process",
      program: {
        modulePath: modulePath(),
        args: [directory],
        options: {
          // Flags (a debugger's port, a loader) and environment (secrets) of the parent are not inherited.
          execArgv: NODE_ARGUMENTS,
          env: {},
          stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
        },
      },
      startMsMax: START_MS_MAX,
      stopMsMax: CLOSE_MS_MAX,
      answer: async () => undefined,
      onReady: (process) => this.#use(process),
      onEnd: (end) => this.#endSession(end),
    });
  }

  async start(): Promise<void> {
    try {
      await this.#service.start();
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  copyTo(directory: string): Promise<void> {
    return this.withConnection((connection) => connection.copyTo(directory));
  }

  protected async withConnection<Value>(
    work: (connection: PgliteConnection) => Promise<Value>,
  ): Promise<Value> {
    if (this.#session === undefined) {
      // Calls do not wait, because a start may take long and callers can go on without an answer.
      throw unavailable('it is starting again');
    }
    const { connection, turns } = this.#session;
    return turns.pass(() => work(connection));
  }

  #use(process: ForkedChild<CallsToPglite, NoCalls>): void {
    this.#session = {
      connection: new PgliteConnection(process),
      turns: new ConcurrencyLimit(1, CALLS_WAITING_MAX, TURN_WAIT_MS_MAX),
    };
  }

  #endSession({ how, startError }: ChildEnd): void {
    const error = startError ?? new Error(`The embedded database's process ended (${how})`);
    this.#session?.turns.rejectWaiting(unavailable(error));
    this.#session = undefined;
    this.#onFault(error);
  }

  /** Waits for calls in flight, and for a process that is starting, then stops the process. */
  protected async shutDown(): Promise<void> {
    await this.#session?.turns.whenIdle();
    await this.#service.stop();
  }
}

/** Returns the path of the process's built module, because plain Node cannot run its source. */
function modulePath(): string {
  const isSource = import.meta.url.endsWith('.ts');
  const path = isSource
    ? '../../../../dist/store/ledger/database/pglite-process.js'
    : './pglite-process.js';
  return fileURLToPath(new URL(path, import.meta.url));
}

// Connection to one process of the embedded database. Once that process has ended, every call rejects with
// `Unavailable`; the next process gets a new connection.

/** Time after which a silent process counts as hanging; less would kill sound processes on a busy machine. */
const ANSWER_TIMEOUT_MS = 10_000;
const SCRIPT_TIMEOUT_MS = 10 * 60_000;

class PgliteConnection implements Connection {
  readonly #process: ForkedChild<CallsToPglite, NoCalls>;

  constructor(process: ForkedChild<CallsToPglite, NoCalls>) {
    this.#process = process;
  }

  async query<Row>(
    text: string,
    values: readonly unknown[] = [],
    timeoutMs = ANSWER_TIMEOUT_MS,
  ): Promise<Row[]> {
    const rows = await this.#ask({ kind: 'query', text, values }, timeoutMs);
    return rows as Row[];
  }

  async begin(): Promise<void> {
    await this.query('BEGIN');
  }

  async runScript(text: string): Promise<void> {
    await this.#ask({ kind: 'script', text }, SCRIPT_TIMEOUT_MS);
  }

  /** Copies the database files, in a consistent state, into a new directory. */
  async copyTo(directory: string): Promise<void> {
    await this.#ask({ kind: 'copy', to: directory }, SCRIPT_TIMEOUT_MS);
  }

  async #ask(request: PgliteRequest, timeoutMs: number): Promise<readonly unknown[]> {
    // The process has one session: a hanging statement blocks all others, and only a kill stops it.
    const timer = setTimeout(() => this.#process.kill(), timeoutMs);
    try {
      const reply = await this.#process.call(request);
      if (reply === undefined) {
        throw unavailable('its process has ended');
      }
      if (reply.kind === 'rows') return reply.rows;
      if (reply.isFatal) this.#process.kill();
      throw toError(reply.error);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Error of the database, rebuilt from the fields that its process sent. */
class PgliteError extends Error {
  readonly code: string | undefined;
  readonly constraint: string | undefined;

  constructor({ message, code, constraint }: PgliteErrorFields) {
    super(message);
    this.name = 'PgliteError';
    this.code = code;
    this.constraint = constraint;
  }
}

function unavailable(cause: unknown): Unavailable {
  return new Unavailable('ledger', cause, 'the embedded database');
}

function toError(fields: PgliteErrorFields): Error {
  const error = new PgliteError(fields);
  return sqlStateKind(fields.code ?? '') === 'unavailable' ? unavailable(error) : error;
}

export type PgliteRequest =
  | { readonly kind: 'query'; readonly text: string; readonly values: readonly unknown[] }
  | { readonly kind: 'script'; readonly text: string }
  /** Copies the database files into a new directory. */
  | { readonly kind: 'copy'; readonly to: string };

export type PgliteReply =
  | { readonly kind: 'rows'; readonly rows: readonly unknown[] }
  | {
      readonly kind: 'error';
      readonly error: PgliteErrorFields;
      /** Whether the database itself has failed, so that its process must be replaced. */
      readonly isFatal: boolean;
    };

export type CallsToPglite = { readonly call: PgliteRequest; readonly answer: PgliteReply };

/** Fields of a database error without the statement's values, which may be secrets. */
export type PgliteErrorFields = {
  readonly message: string;
  readonly code: string | undefined;
  readonly constraint: string | undefined;
};
