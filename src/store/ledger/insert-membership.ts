// Statements that make an account a member of an organization.

import type { Account, Role } from '../../contract/resource.ts';
import type { ActorSql } from './atomically.ts';
import { insertAudit } from './audit.ts';

/**
 * Adds the account as a member, with an audit entry. A member of a higher role keeps it: an old invitation
 * takes none away.
 */
export async function insertMembership(
  sql: ActorSql,
  organizationId: string,
  account: Account,
  role: Role,
): Promise<void> {
  const rows = await sql.query<{ role: Role }>(
    `INSERT INTO memberships (organization_id, account_id, role) VALUES ($1, $2, $3)
     ON CONFLICT (organization_id, account_id) DO UPDATE SET role = excluded.role
       WHERE array_position(ARRAY['owner', 'publisher', 'viewer'], excluded.role::text)
         < array_position(ARRAY['owner', 'publisher', 'viewer'], memberships.role::text)
     RETURNING role`,
    [organizationId, account.id, role],
  );
  if (rows.length === 0) return;
  await insertAudit(sql, {
    organizationId,
    action: 'member.join',
    subject: account.email,
    before: null,
    after: { role },
  });
}
