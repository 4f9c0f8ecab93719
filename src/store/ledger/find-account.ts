// Statements that read accounts for signing in and for the set-up.

import { isStorable } from '../../contract/text.ts';
import type { StoredAccount } from '../account-ledger.ts';
import type { Sql } from './database.ts';

/** Reads an account by its email, which is in lower case. */
export async function findAccount(sql: Sql, email: string): Promise<StoredAccount | undefined> {
  if (!isStorable(email)) return undefined;
  const rows = await sql.query<StoredAccount>(
    `SELECT id, email, name, password_hash AS "passwordHash", password_number AS "passwordNumber"
     FROM accounts WHERE email = $1`,
    [email],
  );
  return rows[0];
}

/**
 * Tells whether the service has an account yet. Once it has one it always does: accounts are never removed.
 */
export async function hasAccounts(sql: Sql): Promise<boolean> {
  const rows = await sql.query('SELECT FROM accounts LIMIT 1');
  return rows.length > 0;
}
