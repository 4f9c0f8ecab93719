// The organizations that somebody may see, and as what.

import { LIMIT } from '../../contract/limit.ts';
import type { Membership } from '../../contract/resource.ts';
import type { Sql } from '../database.ts';
import { ROLE_OF } from './role-of.ts';

/** One read, by the organizations' names. */
export function listMemberships(
  sql: Sql,
  accountId: string | undefined,
): Promise<readonly Membership[]> {
  return sql.query<Membership>(
    `SELECT json_build_object('id', organizations.id, 'name', organizations.name) AS organization,
       ${ROLE_OF.role} AS role
     FROM organizations ${ROLE_OF.join} WHERE ${ROLE_OF.isVisible}
     ORDER BY organizations.name, organizations.id LIMIT ${LIMIT.organizationsShownMax}`,
    [accountId ?? null],
  );
}
