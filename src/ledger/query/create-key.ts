// Transaction that creates an API key. Only the hash of its secret is stored, and the audit has not even
// that.

import { fail, type LostRight, type Outcome } from '../../contract/failure.ts';
import type { ApiKey } from '../../contract/resource.ts';
import type { Actor } from '../../ports/actor.ts';
import type { NewKey } from '../../ports/ledger.ts';
import { actorText } from '../actor-text.ts';
import { atomically } from '../atomically.ts';
import type { Database } from '../database.ts';
import { newId } from '../new-id.ts';
import { insertAudit } from './insert-audit.ts';
import { organizationExists } from './organization-exists.ts';

/**
 * Stores the key and the audit entry in one transaction. A prefix that exists already is no
 * expected refusal, because prefixes are random: the database's error rejects the call.
 */
export function createKey(
  database: Database,
  key: NewKey,
  actor: Actor,
): Promise<Outcome<ApiKey, 'unknownOrganization' | LostRight>> {
  return atomically(database, actor, async (sql) => {
    const { organizationId, name, prefix, secretHash } = key;
    if (!(await organizationExists(sql, organizationId))) return fail('unknownOrganization');
    const id = newId('key');
    await sql.query(
      `INSERT INTO api_keys (id, organization_id, name, prefix, secret_hash, created_by)
       VALUES ($1, $2, $3, $4, $5, $6)`,
      [id, organizationId, name, prefix, secretHash, actorText(actor)],
    );
    await insertAudit(sql, {
      organizationId,
      action: 'key.create',
      subject: id,
      before: null,
      after: { name, prefix },
    });
    return { id, name, prefix };
  });
}
