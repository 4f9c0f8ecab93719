// Statements that end sessions.

import type { Sql } from '../database.ts';

/** Ends all sessions of an account except the one with this token hash; undefined ends all of them. */
export async function endSessions(
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
