// The end of an account's sessions.

import type { Sql } from '../database.ts';

/** All of them, but the one kept. */
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

/** One session. */
export async function endSession(sql: Sql, tokenHash: string): Promise<void> {
  await sql.query('DELETE FROM sessions WHERE token_hash = $1', [tokenHash]);
}
