// Another password for an account.

import type { Database } from '../database.ts';
import { endSessions } from './end-sessions.ts';

/**
 * One transaction: the password and the end of the other sessions. The row's lock orders it against
 * sessions that are just opened with the old password.
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
