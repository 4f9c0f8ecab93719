// Statement that lists the open invitations of an organization.

import { LIMIT } from '../../contract/limit.ts';
import type { Invitation } from '../../contract/resource.ts';
import { INVITATION_COLUMNS, IS_OPEN } from './columns.ts';
import type { Sql } from './database.ts';

/** Returns the invitations that can be used at `now`, newest first. */
export function listInvitations(
  sql: Sql,
  organizationId: string,
  now: string,
): Promise<readonly Invitation[]> {
  return sql.query<Invitation>(
    `SELECT ${INVITATION_COLUMNS} FROM invitations
     WHERE organization_id = $2 AND ${IS_OPEN}
     ORDER BY created_at DESC, id DESC LIMIT ${LIMIT.invitationsMax}`,
    [now, organizationId],
  );
}
