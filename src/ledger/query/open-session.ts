// Transaction that opens a session of an account.

import { LIMIT } from '../../contract/limit.ts';
import type { NewSession } from '../../ports/account-ledger.ts';
import type { Database } from '../database.ts';

/**
 * Locks the account's row and compares the password hash there, so that no session with an old password opens
 * after a password change, which ends such sessions. Deletes the account's expired sessions, and its oldest
 * ones beyond the bound, in the same transaction. False when the password hash differs.
 */
export function openSession(
  database: Database,
  accountId: string,
  passwordHash: string,
  { tokenHash, at, expiresAt }: NewSession,
): Promise<boolean> {
  return database.transaction(async (sql) => {
    const accounts = await sql.query(
      'SELECT id FROM accounts WHERE id = $1 AND password_hash = $2 FOR NO KEY UPDATE',
      [accountId, passwordHash],
    );
    if (accounts.length === 0) return false;
    await sql.query(
      `DELETE FROM sessions WHERE account_id = $1 AND (expires_at <= $2::timestamptz OR token_hash IN (
         SELECT token_hash FROM sessions WHERE account_id = $1
         ORDER BY created_at DESC, token_hash OFFSET $3
       ))`,
      [accountId, at, LIMIT.sessionsPerAccountMax - 1],
    );
    await sql.query(
      `INSERT INTO sessions (token_hash, account_id, created_at, last_seen_at, expires_at)
       VALUES ($1, $2, $3, $3, $4)`,
      [tokenHash, accountId, at, expiresAt],
    );
    return true;
  });
}
