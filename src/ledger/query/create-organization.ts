// A new organization.

import type { Organization } from '../../contract/resource.ts';
import type { Actor } from '../../ports/ledger.ts';
import type { Database } from '../database.ts';
import { newId } from '../new-id.ts';
import { insertAudit } from './insert-audit.ts';

/** One transaction: the organization and its first audit entry. Names need not be unique. */
export function createOrganization(
  database: Database,
  name: string,
  actor: Actor,
): Promise<Organization> {
  return database.transaction(async (sql) => {
    const id = newId('org');
    await sql.query('INSERT INTO organizations (id, name) VALUES ($1, $2)', [id, name]);
    await insertAudit(sql, {
      organizationId: id,
      actor,
      action: 'organization.create',
      subject: id,
      before: null,
      after: { name },
    });
    return { id, name };
  });
}
