// Transaction that replaces an account's password.

import type { LostRight, Outcome } from '../../contract/failure.ts';
import type { Actor } from '../ledger-terms.ts';
import { atomically } from './atomically.ts';
import type { Database } from './database.ts';
import { insertAccountAudit } from './insert-account-audit.ts';
import { storePassword } from './store-password.ts';

/**
 * Stores the password hash `after` and ends the account's other sessions in one transaction; undefined when
 * the stored hash is not `before`. The lock on the account's row orders the change against `openSession` with
 * the old password.
 */
export function changePassword(
  database: Database,
  before: string,
  after: string,
  actor: Extract<Actor, { kind: 'account' }>,
): Promise<Outcome<number | undefined, LostRight>> {
  return atomically(database, actor, async (sql) => {
    const { accountId, tokenHash, email } = actor;
    const rows = await sql.query(
      'SELECT FROM accounts WHERE id = $1 AND password_hash = $2 FOR NO KEY UPDATE',
      [accountId, before],
    );
    if (rows.length === 0) return undefined;
    const passwordNumber = await storePassword(sql, accountId, after, tokenHash);
    await insertAccountAudit(sql, { id: accountId, email }, 'account.set-password', {
      by: 'password',
    });
    return passwordNumber;
  });
}
