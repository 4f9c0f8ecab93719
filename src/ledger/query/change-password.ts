// Transaction that replaces an account's password.

import type { LostRight, Outcome } from '../../contract/failure.ts';
import type { Actor } from '../../ports/actor.ts';
import { atomically } from '../atomically.ts';
import type { Database } from '../database.ts';
import { deleteSessions } from './end-sessions.ts';

/**
 * Stores the password hash `after` and ends the account's other sessions in one transaction; false when the
 * stored hash is not `before`. The lock on the account's row orders the change against `openSession` with the
 * old password.
 */
export function changePassword(
  database: Database,
  before: string,
  after: string,
  actor: Extract<Actor, { kind: 'account' }>,
): Promise<Outcome<boolean, LostRight>> {
  return atomically(database, actor, async (sql) => {
    const { accountId, tokenHash } = actor;
    const rows = await sql.query(
      `UPDATE accounts SET password_hash = $3 WHERE id = $1 AND password_hash = $2 RETURNING id`,
      [accountId, before, after],
    );
    if (rows.length === 0) return false;
    await deleteSessions(sql, accountId, tokenHash);
    return true;
  });
}
