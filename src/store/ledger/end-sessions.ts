// Statements that end sessions.

import type { Database, Sql } from './database.ts';

/**
 * Ends all sessions of an account. It locks the account's row first, as every transaction does that ends
 * several sessions: two of them could otherwise wait for each other.
 */
export function endSessions(database: Database, accountId: string): Promise<void> {
  return database.transaction(async (sql) => {
    await sql.query('SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [accountId]);
    await deleteSessions(sql, accountId, undefined);
  });
}

/**
 * Ends all sessions of an account except the one with this token hash; undefined ends all of them. Call it
 * under the lock on the account's row.
 */
export async function deleteSessions(
  sql: Sql,
  accountId: string,
  keptTokenHash: string | undefined,
): Promise<void> {
  await sql.query(
    'DELETE FROM sessions WHERE account_id = $1 AND ($2::text IS NULL OR token_hash <> $2)',
    [accountId, keptTokenHash ?? null],
  );
}

/** Ends the session with this token hash, if there is one. */
export async function endSession(sql: Sql, tokenHash: string): Promise<void> {
  await sql.query('DELETE FROM sessions WHERE token_hash = $1', [tokenHash]);
}
