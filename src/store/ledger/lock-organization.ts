// Statement that locks an organization: the lock orders changes of its members and name, and the creation and
// use of invitations.

import type { Organization } from '../../contract/resource.ts';
import { isStorable } from '../../contract/text.ts';
import type { Sql } from './database.ts';

/**
 * Locks the organization until the transaction ends; undefined when it does not exist. The lock is weaker
 * than the one for a removal, so that other transactions can write rows that refer to the organization
 * meanwhile.
 */
export async function lockOrganization(sql: Sql, id: string): Promise<Organization | undefined> {
  if (!isStorable(id)) return undefined;
  const rows = await sql.query<Organization>(
    'SELECT id, name FROM organizations WHERE id = $1 FOR NO KEY UPDATE',
    [id],
  );
  return rows[0];
}
