// Transaction that creates an organization.

import type { LostRight, Outcome } from '../../contract/failure.ts';
import type { Organization } from '../../contract/resource.ts';
import type { Actor } from '../ledger-terms.ts';
import { atomically } from './atomically.ts';
import type { Database } from './database.ts';
import { insertOrganization } from './insert-organization.ts';

/**
 * Stores the organization, its first audit entry and, if an account creates it, that account as its owner, in
 * one transaction.
 */
export function createOrganization(
  database: Database,
  name: string,
  actor: Actor,
): Promise<Outcome<Organization, LostRight>> {
  return atomically(database, actor, async (sql) => {
    const organization = await insertOrganization(sql, name);
    if (actor.kind === 'account') {
      await sql.query(
        `INSERT INTO memberships (organization_id, account_id, role) VALUES ($1, $2, 'owner')`,
        [organization.id, actor.accountId],
      );
    }
    return organization;
  });
}
