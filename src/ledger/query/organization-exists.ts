// Whether there is such an organization.

import type { Sql } from '../database.ts';
import { isStorable } from './is-storable.ts';

/** One read, no lock: organizations are never removed. */
export async function organizationExists(sql: Sql, id: string): Promise<boolean> {
  if (!isStorable(id)) return false;
  const rows = await sql.query('SELECT FROM organizations WHERE id = $1', [id]);
  return rows.length > 0;
}
