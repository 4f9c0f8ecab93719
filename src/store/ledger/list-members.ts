// Statement that lists an organization's members.

import { LIMIT } from '../../contract/limit.ts';
import type { Member } from '../../contract/resource.ts';
import { MEMBER_COLUMNS } from './columns.ts';
import type { Sql } from './database.ts';

/** Returns owners first, then publishers, then viewers; members of the same role by name. */
export function listMembers(sql: Sql, organizationId: string): Promise<readonly Member[]> {
  return sql.query<Member>(
    `SELECT ${MEMBER_COLUMNS}
     FROM memberships JOIN accounts ON accounts.id = memberships.account_id
     WHERE memberships.organization_id = $1
     ORDER BY array_position(ARRAY['owner', 'publisher', 'viewer'], memberships.role::text),
       accounts.name, accounts.email
     LIMIT ${LIMIT.membersShownMax}`,
    [organizationId],
  );
}
