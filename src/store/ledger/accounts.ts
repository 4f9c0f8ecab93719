// Transaction that opens a session of an account.

import { fail, type Outcome } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { NewSession } from '../account-ledger.ts';
import { type ActorSql, atomically } from './atomically.ts';
import type { Database } from './database.ts';
import { insertAccountAudit } from './insert-account-audit.ts';

/**
 * Locks the account's row and compares the password hash there, so that no session with an old password opens
 * after a password change, which ends such sessions. Deletes the account's expired sessions, and its oldest
 * ones beyond the bound, and tells the audit, in the same transaction. Returns the number of the
 * password; `wrongLogin` when its hash differs.
 */
export function openSession(
  database: Database,
  { id: accountId, email, passwordHash }: Opening,
  { tokenHash, at, expiresAt, address }: NewSession,
): Promise<Outcome<number, 'wrongLogin'>> {
  return atomically(database, { kind: 'token', email }, async (sql) => {
    const [account] = await sql.query<{ passwordNumber: number }>(
      `SELECT password_number AS "passwordNumber" FROM accounts
       WHERE id = $1 AND password_hash = $2 FOR NO KEY UPDATE`,
      [accountId, passwordHash],
    );
    if (account === undefined) return fail('wrongLogin');
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
    const failuresBefore = await tellFailures(sql, accountId);
    await insertAccountAudit(sql, { id: accountId, email }, 'account.sign-in', {
      address,
      ...(failuresBefore === 0 ? {} : { failuresBefore }),
    });
    return account.passwordNumber;
  });
}

type Opening = { readonly id: string; readonly email: string; readonly passwordHash: string };

/** Returns how many failed sign-ins of the account the audit was not told of; it is told now. */
async function tellFailures(sql: ActorSql, accountId: string): Promise<number> {
  const [told] = await sql.query<{ failures: number }>(
    `UPDATE failed_sign_ins SET failures = 0
     FROM (SELECT failures FROM failed_sign_ins WHERE account_id = $1 FOR UPDATE) AS before
     WHERE account_id = $1 RETURNING before.failures::int AS failures`,
    [accountId],
  );
  return told?.failures ?? 0;
}
