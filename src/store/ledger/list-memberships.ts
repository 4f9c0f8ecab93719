// Statement that lists the organizations that an account belongs to, with its role in each.

import { LIMIT } from '../../contract/limit.ts';
import type { Membership } from '../../contract/resource.ts';
import { columns, ORGANIZATION_JSON, ROLE_OF } from './columns.ts';
import type { Sql } from './database.ts';

/**
 * Returns memberships by the organizations' names; undefined is the operator, who is owner of every
 * organization.
 */
export function listMemberships(
  sql: Sql,
  accountId: string | undefined,
): Promise<readonly Membership[]> {
  return sql.query<Membership>(
    `SELECT ${columns<Membership>({ organization: ORGANIZATION_JSON, role: ROLE_OF.role })}
     FROM organizations ${ROLE_OF.join} WHERE ${ROLE_OF.isVisible}
     ORDER BY organizations.name, organizations.id LIMIT ${LIMIT.organizationsShownMax}`,
    [accountId ?? null],
  );
}
