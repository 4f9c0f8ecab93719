// One life of the embedded database's process, seen from the process that uses it.

import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Unavailable } from '../ports/unavailable.ts';
import type { Sql } from './database.ts';
import type { PgliteErrorFields, PgliteReply, PgliteRequest } from './pglite-request.ts';
import { sqlStateKind } from './sql-state-kind.ts';

/** Includes making a new database, and waiting for a lock whose holder is just leaving. */
const OPEN_TIMEOUT_MS = 60_000;
/** A process that is silent for so long hangs; on a busy machine a shorter limit would kill a sound one. */
const ANSWER_TIMEOUT_MS = 10_000;
const SCRIPT_TIMEOUT_MS = 10 * 60_000;
const CLOSE_TIMEOUT_MS = 5000;

type Pending = {
  readonly resolve: (rows: readonly unknown[]) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
};

/** The process as a connection. Every call rejects with `Unavailable` once the process is gone. */
export class PgliteChild implements Sql {
  readonly opened: Promise<void>;
  /** Resolves when the process has ended, with how it ended. */
  readonly ended: Promise<string>;
  readonly #process: ChildProcess;
  readonly #pending = new Map<number, Pending>();
  #lastId = 0;
  #end: string | undefined;

  constructor(child: ChildProcess) {
    this.#process = child;
    this.ended = new Promise((resolve) => {
      child.once('exit', (code, signal) => resolve(this.#settleEnd(signal ?? `code ${code}`)));
      // Never started, or cannot be written to: in the second case 'exit' follows, and changes nothing.
      child.on('error', (error) => resolve(this.#settleEnd(error.message)));
    });
    this.opened = this.#awaitOpened();
    child.on('message', (reply: PgliteReply) => this.#receive(reply));
  }

  async query<Row>(
    text: string,
    values: readonly unknown[] = [],
    timeoutMs = ANSWER_TIMEOUT_MS,
  ): Promise<Row[]> {
    const rows = await this.#call(timeoutMs, (id) => ({ kind: 'query', id, text, values }));
    return rows as Row[];
  }

  async runScript(text: string): Promise<void> {
    await this.#call(SCRIPT_TIMEOUT_MS, (id) => ({ kind: 'script', id, text }));
  }

  /** Lets the database write what it has and waits for the process to leave. */
  async close(): Promise<void> {
    const timer = setTimeout(() => this.kill(), CLOSE_TIMEOUT_MS);
    this.#send({ kind: 'close' });
    await this.ended;
    clearTimeout(timer);
  }

  kill(): void {
    this.#process.kill('SIGKILL');
  }

  #call(timeoutMs: number, build: (id: number) => PgliteRequest): Promise<readonly unknown[]> {
    if (this.#end !== undefined) return Promise.reject(this.#gone());
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      // One session: a statement that does not come back blocks all others, and only its end stops it.
      const timer = setTimeout(() => this.kill(), timeoutMs);
      this.#pending.set(id, { resolve, reject, timer });
      try {
        this.#send(build(id));
      } catch (error) {
        // A value that cannot be copied to another process: nothing was sent.
        this.#receive({
          kind: 'error',
          id,
          error: { message: String(error), code: undefined, constraint: undefined },
        });
      }
    });
  }

  /** A message that cannot be delivered needs no answer of its own: the process is ending. */
  #send(request: PgliteRequest): void {
    if (!this.#process.connected) return;
    this.#process.send(request, (error) => {
      if (error !== null) this.kill();
    });
  }

  #receive(reply: PgliteReply): void {
    if (reply.kind !== 'rows' && reply.kind !== 'error') return;
    const pending = this.#pending.get(reply.id);
    if (pending === undefined) return;
    this.#pending.delete(reply.id);
    clearTimeout(pending.timer);
    if (reply.kind === 'rows') pending.resolve(reply.rows);
    else pending.reject(toError(reply.error));
  }

  async #awaitOpened(): Promise<void> {
    const timer = setTimeout(() => this.kill(), OPEN_TIMEOUT_MS);
    const refusal = new Promise<string | undefined>((resolve) => {
      this.#process.on('message', (reply: PgliteReply) => {
        if (reply.kind === 'opened') resolve(undefined);
        if (reply.kind === 'refused') resolve(reply.message);
      });
    });
    const end = this.ended.then((how) => `The embedded database's process ended early (${how})`);
    const reason = await Promise.race([refusal, end]);
    clearTimeout(timer);
    if (reason !== undefined) throw new Error(reason);
  }

  #settleEnd(how: string): string {
    this.#end ??= how;
    for (const { reject, timer } of this.#pending.values()) {
      clearTimeout(timer);
      reject(this.#gone());
    }
    this.#pending.clear();
    return this.#end;
  }

  #gone(): Unavailable {
    return new Unavailable('ledger', `the embedded database's process has ended (${this.#end})`);
  }
}

/** Starts the process and resolves when the directory is open; rejects with the reason when it cannot be. */
export async function startPgliteChild(directory: string): Promise<PgliteChild> {
  const child = new PgliteChild(
    fork(modulePath(), [directory], {
      // The parent's flags (a debugger's port, a loader) and its environment (secrets) are not for it.
      execArgv: [],
      env: {},
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    }),
  );
  await child.opened;
  return child;
}

/** Run from its sources, by the tests, there is nothing that plain Node could fork but the built file. */
function modulePath(): string {
  const isSource = import.meta.url.endsWith('.ts');
  const path = isSource ? '../../dist/ledger/pglite-process.js' : './pglite-process.js';
  return fileURLToPath(new URL(path, import.meta.url));
}

/** An error of the database, carried over the process border. */
export class PgliteError extends Error {
  readonly code: string | undefined;
  readonly constraint: string | undefined;

  constructor({ message, code, constraint }: PgliteErrorFields) {
    super(message);
    this.name = 'PgliteError';
    this.code = code;
    this.constraint = constraint;
  }
}

function toError(fields: PgliteErrorFields): Error {
  const error = new PgliteError(fields);
  return sqlStateKind(fields.code ?? '') === 'unavailable'
    ? new Unavailable('ledger', error)
    : error;
}
