// Transaction that renames an organization.

import { fail, type LostRight, type Outcome } from '../../contract/failure.ts';
import type { Organization } from '../../contract/resource.ts';
import type { Actor } from '../ledger-terms.ts';
import { atomically } from './atomically.ts';
import { insertAudit } from './audit.ts';
import type { Database } from './database.ts';
import { lockOrganization } from './lock-organization.ts';

/** Runs as one transaction under the organization's lock. The name that it has already is not audited. */
export function renameOrganization(
  database: Database,
  id: string,
  name: string,
  actor: Actor,
): Promise<Outcome<Organization, 'unknownOrganization' | LostRight>> {
  return atomically(database, actor, async (sql) => {
    const before = await lockOrganization(sql, id);
    if (before === undefined) return fail('unknownOrganization');
    if (before.name === name) return before;
    await sql.query('UPDATE organizations SET name = $2 WHERE id = $1', [id, name]);
    await insertAudit(sql, {
      organizationId: id,
      action: 'organization.update',
      subject: id,
      before: { name: before.name },
      after: { name },
    });
    return { id, name };
  });
}
