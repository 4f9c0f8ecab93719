// Statements that replace an account's password.

import type { Sql } from './database.ts';
import { deleteSessions } from './end-sessions.ts';

/**
 * Stores the password hash under the next number, ends all sessions except the one with `keptTokenHash`, and
 * ends a link that would set another password. Returns the password's number. Call it under the lock on the
 * account's row, which it takes again.
 */
export async function storePassword(
  sql: Sql,
  accountId: string,
  passwordHash: string,
  keptTokenHash: string | undefined,
): Promise<number> {
  const [stored] = await sql.query<{ passwordNumber: number }>(
    `UPDATE accounts SET password_hash = $2, password_number = password_number + 1 WHERE id = $1
     RETURNING password_number AS "passwordNumber"`,
    [accountId, passwordHash],
  );
  if (stored === undefined) throw new Error(`Locked account ${accountId} has no row`);
  await deleteSessions(sql, accountId, keptTokenHash);
  await sql.query('DELETE FROM password_resets WHERE account_id = $1', [accountId]);
  return stored.passwordNumber;
}
