// Statement that tells whether an organization exists.

import { isStorable } from '../../contract/text.ts';
import type { Sql } from './database.ts';

/** Reads without a lock, because organizations are never removed. */
export async function organizationExists(sql: Sql, id: string): Promise<boolean> {
  if (!isStorable(id)) return false;
  const rows = await sql.query('SELECT FROM organizations WHERE id = $1', [id]);
  return rows.length > 0;
}
