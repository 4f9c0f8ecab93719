// A single statement with a limit on the server that no session has to keep: a pooler of transactions, such
// as PgBouncer, refuses settings at the start of a session, and gives each transaction another one.
//
// The limit is set by a statement of its own that goes out together with the caller's, before one Sync. The
// server runs both in one transaction and answers them together, so this costs no round trip; a BEGIN and a
// COMMIT around the statement would.

import pg from 'pg';

/** What the driver's queries do with messages of the server; its types leave this out. */
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

export type StatementLimits = {
  /** Milliseconds after which the server cancels the statement. */
  readonly serverMs: number;
  /** Milliseconds after which the driver gives the answer up. */
  readonly answerMs: number;
};

/**
 * Runs one statement outside of a transaction. Rejects as the driver's `query` does; with SQLSTATE 57014 when
 * the statement took longer than the server's limit.
 */
export function limitedQuery(
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
  /** Read by the driver. */
  readonly query_timeout: number;
  readonly #serverMs: number;
  /** Whether the answers that come now are those of the caller's statement. */
  #isLimited = false;

  constructor(settings: QuerySettings, limits: StatementLimits, onSettled: Settled) {
    super(settings, onSettled);
    this.query_timeout = limits.answerMs;
    this.#serverMs = limits.serverMs;
  }

  override submit(connection: pg.Connection): Error | null {
    const text = `SELECT set_config('statement_timeout', '${this.#serverMs}', true)`;
    // Held back until the caller's statement is there as well, so that one packet carries both.
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
