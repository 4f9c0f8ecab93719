// Transaction that makes a link by which an account gets a new password. Only the hash of its token is
// stored, and the audit has not even that.

import { fail, type LostRight, type Outcome } from '../../contract/failure.ts';
import type { NewPasswordReset } from '../account-ledger.ts';
import type { Actor } from '../ledger-terms.ts';
import { atomically } from './atomically.ts';
import type { Database } from './database.ts';
import { findAccount } from './find-account.ts';
import { insertAccountAudit } from './insert-account-audit.ts';

/** Stores the link and the audit entry in one transaction; an earlier link of the account ends. */
export function createPasswordReset(
  database: Database,
  { email, tokenHash, at, expiresAt }: NewPasswordReset,
  actor: Actor,
): Promise<Outcome<{ readonly email: string }, 'unknownAccount' | LostRight>> {
  return atomically(database, actor, async (sql) => {
    const account = await findAccount(sql, email);
    if (account === undefined) return fail('unknownAccount');
    await sql.query(
      `INSERT INTO password_resets (account_id, token_hash, created_at, expires_at)
       VALUES ($1, $2, $3::timestamptz, $4::timestamptz)
       ON CONFLICT (account_id) DO UPDATE SET token_hash = excluded.token_hash,
         created_at = excluded.created_at, expires_at = excluded.expires_at`,
      [account.id, tokenHash, at, expiresAt],
    );
    await insertAccountAudit(sql, account, 'account.reset-password', { expiresAt });
    return { email: account.email };
  });
}
