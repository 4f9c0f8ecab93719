// Statement that finds the account of a session.

import type { StoredAccount } from '../account-ledger.ts';
import type { Sql } from './database.ts';

/**
 * Returns the account of a session that is neither expired at `now` nor unused since `idleSince`. Stores the
 * time of use at most once a minute. If the session ends between the read and that write, the write changes
 * no row.
 */
export async function findSession(
  sql: Sql,
  tokenHash: string,
  now: string,
  idleSince: string,
): Promise<StoredAccount | undefined> {
  const rows = await sql.query<StoredAccount & { isStale: boolean }>(
    `SELECT accounts.id, email, name, password_hash AS "passwordHash",
       password_number AS "passwordNumber",
       last_seen_at <= $2::timestamptz - interval '1 minute' AS "isStale"
     FROM sessions JOIN accounts ON accounts.id = sessions.account_id
     WHERE token_hash = $1 AND expires_at > $2::timestamptz AND last_seen_at > $3::timestamptz`,
    [tokenHash, now, idleSince],
  );
  const [found] = rows;
  if (found === undefined) return undefined;
  const { isStale, ...account } = found;
  if (isStale) {
    await sql.query('UPDATE sessions SET last_seen_at = $2::timestamptz WHERE token_hash = $1', [
      tokenHash,
      now,
    ]);
  }
  return account;
}
