// A new organization.

import type { Organization } from '../../contract/resource.ts';
import type { Actor } from '../../ports/ledger.ts';
import type { Database } from '../database.ts';
import { insertOrganization } from './insert-organization.ts';

/** One transaction: the organization, its owner, if an account makes it, and its first audit entry. */
export function createOrganization(
  database: Database,
  name: string,
  actor: Actor,
  ownerAccountId: string | undefined,
): Promise<Organization> {
  return database.transaction(async (sql) => {
    const organization = await insertOrganization(sql, name, actor);
    if (ownerAccountId !== undefined) {
      await sql.query(
        `INSERT INTO memberships (organization_id, account_id, role) VALUES ($1, $2, 'owner')`,
        [organization.id, ownerAccountId],
      );
    }
    return organization;
  });
}
