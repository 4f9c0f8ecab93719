// What an invitation is for.

import type { OpenInvitation } from '../../ports/account-ledger.ts';
import type { Sql } from '../database.ts';
import { IS_OPEN } from './invitation-columns.ts';

/** One read; undefined when it cannot be used (any more). */
export async function findInvitation(
  sql: Sql,
  tokenHash: string,
  now: string,
): Promise<OpenInvitation | undefined> {
  const rows = await sql.query<OpenInvitation>(
    `SELECT json_build_object('id', organizations.id, 'name', organizations.name) AS organization,
       invitations.email, invitations.role
     FROM invitations JOIN organizations ON organizations.id = invitations.organization_id
     WHERE invitations.token_hash = $2 AND ${IS_OPEN}`,
    [now, tokenHash],
  );
  return rows[0];
}
