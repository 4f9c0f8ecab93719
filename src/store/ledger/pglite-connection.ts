// Connection to one process of the embedded database. Every call rejects with `Unavailable` once that process
// has ended; the process that is started after it gets a new connection.

import { Unavailable } from '../../contract/unavailable.ts';
import type { NoCalls, ForkedChild } from '../../process/child-process.ts';
import type { Connection } from './database.ts';
import type { CallsToPglite, PgliteErrorFields, PgliteRequest } from './pglite-request.ts';
import { sqlStateKind } from './sql-state-kind.ts';

/**
 * Time after which a process that does not answer counts as hanging. A shorter limit would kill sound
 * processes on a busy machine.
 */
const ANSWER_TIMEOUT_MS = 10_000;
const SCRIPT_TIMEOUT_MS = 10 * 60_000;

export class PgliteConnection implements Connection {
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

  /** Copies the files of the database into a new directory, where they are a database as it is now. */
  async copyTo(directory: string): Promise<void> {
    await this.#ask({ kind: 'copy', to: directory }, SCRIPT_TIMEOUT_MS);
  }

  async #ask(request: PgliteRequest, timeoutMs: number): Promise<readonly unknown[]> {
    // The process has one session: a statement that hangs blocks all others, and only killing the process
    // stops it.
    const timer = setTimeout(() => this.#process.kill(), timeoutMs);
    try {
      const reply = await this.#process.call(request);
      if (reply === undefined) {
        throw new Unavailable('ledger', "the embedded database's process has ended");
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

function toError(fields: PgliteErrorFields): Error {
  const error = new PgliteError(fields);
  return sqlStateKind(fields.code ?? '') === 'unavailable'
    ? new Unavailable('ledger', error)
    : error;
}
