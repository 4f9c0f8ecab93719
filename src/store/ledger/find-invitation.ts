// Statement that reads what an open invitation offers.

import type { OpenInvitation } from '../../contract/console.ts';
import { columns, IS_OPEN, ORGANIZATION_JSON } from './columns.ts';
import type { Sql } from './database.ts';

const OFFER_COLUMNS = columns<OpenInvitation>({
  organization: ORGANIZATION_JSON,
  email: 'invitations.email',
  role: 'invitations.role',
});

/**
 * Returns the organization, email and role of an invitation by the hash of its token; undefined when the
 * invitation cannot be used at `now`.
 */
export async function findInvitation(
  sql: Sql,
  tokenHash: string,
  now: string,
): Promise<OpenInvitation | undefined> {
  const rows = await sql.query<OpenInvitation>(
    `SELECT ${OFFER_COLUMNS}
     FROM invitations JOIN organizations ON organizations.id = invitations.organization_id
     WHERE invitations.token_hash = $2 AND ${IS_OPEN}`,
    [now, tokenHash],
  );
  return rows[0];
}
