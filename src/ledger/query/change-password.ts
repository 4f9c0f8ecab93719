// Transaction that replaces an account's password.

import type { Database } from '../database.ts';
import { endSessions } from './end-sessions.ts';

/**
 * Stores the password hash `after` and ends the account's other sessions in one transaction; false when the
 * stored hash is not `before`. The lock on the account's row orders the change against `openSession` with the
 * old password.
 */
export function changePassword(
  database: Database,
  accountId: string,
  before: string,
  after: string,
  keptTokenHash: string,
): Promise<boolean> {
  return database.transaction(async (sql) => {
    const rows = await sql.query(
      `UPDATE accounts SET password_hash = $3 WHERE id = $1 AND password_hash = $2 RETURNING id`,
      [accountId, before, after],
    );
    if (rows.length === 0) return false;
    await endSessions(sql, accountId, keptTokenHash);
    return true;
  });
}
