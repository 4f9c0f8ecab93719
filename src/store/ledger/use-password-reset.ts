// Transaction that uses a link by which an account gets a new password.

import { fail, type Outcome } from '../../contract/failure.ts';
import type { StoredAccount } from '../account-ledger.ts';
import { atomically } from './atomically.ts';
import type { Database } from './database.ts';
import { findAccount } from './find-account.ts';
import { findPasswordReset } from './find-password-reset.ts';
import { insertAccountAudit } from './insert-account-audit.ts';
import { storePassword } from './store-password.ts';

/**
 * Stores the password and ends every session of the account in one transaction. The link is deleted first: of
 * several that use it at once, one finds it.
 */
export async function usePasswordReset(
  database: Database,
  tokenHash: string,
  passwordHash: string,
  now: string,
): Promise<Outcome<StoredAccount, 'unknownReset'>> {
  const found = await findPasswordReset(database, tokenHash, now);
  if (found === undefined) return fail('unknownReset');
  return atomically(database, { kind: 'token', email: found.email }, async (sql) => {
    const account = await findAccount(sql, found.email);
    if (account === undefined) return fail('unknownReset');
    await sql.query('SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [account.id]);
    const used = await sql.query(
      `DELETE FROM password_resets WHERE account_id = $1 AND token_hash = $2
         AND expires_at > $3::timestamptz RETURNING account_id`,
      [account.id, tokenHash, now],
    );
    if (used.length === 0) return fail('unknownReset');
    const passwordNumber = await storePassword(sql, account.id, passwordHash, undefined);
    await insertAccountAudit(sql, account, 'account.set-password', { by: 'link' });
    return { ...account, passwordHash, passwordNumber };
  });
}
