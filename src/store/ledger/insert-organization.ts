// Statements that insert an organization and its first audit entry.

import type { Organization } from '../../contract/resource.ts';
import type { ActorSql } from './atomically.ts';
import { insertAudit } from './audit.ts';
import { newId } from './new-id.ts';

/** Runs in the caller's transaction. Names of organizations need not be unique. */
export async function insertOrganization(sql: ActorSql, name: string): Promise<Organization> {
  const id = newId('org');
  await sql.query('INSERT INTO organizations (id, name) VALUES ($1, $2)', [id, name]);
  await insertAudit(sql, {
    organizationId: id,
    action: 'organization.create',
    subject: id,
    before: null,
    after: { name },
  });
  return { id, name };
}
