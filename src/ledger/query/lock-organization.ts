// The lock that orders everything that changes who belongs to an organization.

import type { Organization } from '../../contract/resource.ts';
import type { Sql } from '../database.ts';
import { isStorable } from './is-storable.ts';

/**
 * Until the transaction ends; undefined when there is no such organization. A weaker lock than one for
 * removal, so that rows which refer to the organization are written meanwhile.
 */
export async function lockOrganization(sql: Sql, id: string): Promise<Organization | undefined> {
  if (!isStorable(id)) return undefined;
  const rows = await sql.query<Organization>(
    'SELECT id, name FROM organizations WHERE id = $1 FOR NO KEY UPDATE',
    [id],
  );
  return rows[0];
}
