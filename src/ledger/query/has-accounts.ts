// Whether anybody has an account yet.

import type { Sql } from '../database.ts';

/** One read; accounts are never removed. */
export async function hasAccounts(sql: Sql): Promise<boolean> {
  const rows = await sql.query('SELECT FROM accounts LIMIT 1');
  return rows.length > 0;
}
