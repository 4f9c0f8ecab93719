// Statement that reads a link by which an account gets a new password.

import type { Sql } from './database.ts';

/** Returns the email of the account that a link is for; undefined when the link cannot be used at `now`. */
export async function findPasswordReset(
  sql: Sql,
  tokenHash: string,
  now: string,
): Promise<{ readonly email: string } | undefined> {
  const rows = await sql.query<{ email: string }>(
    `SELECT accounts.email FROM password_resets JOIN accounts ON accounts.id = account_id
     WHERE token_hash = $1 AND expires_at > $2::timestamptz`,
    [tokenHash, now],
  );
  return rows[0];
}
