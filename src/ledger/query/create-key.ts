// A new API key. Only the hash of its secret is ever stored, and not even that is audited.

import { fail, type Outcome } from '../../contract/failure.ts';
import type { ApiKey } from '../../contract/resource.ts';
import type { Actor, NewKey } from '../../ports/ledger.ts';
import { actorText } from '../actor-text.ts';
import { atomically } from '../atomically.ts';
import type { Database } from '../database.ts';
import { newId } from '../new-id.ts';
import { insertAudit } from './insert-audit.ts';
import { organizationExists } from './organization-exists.ts';

/** One transaction: the key and the audit. A prefix that exists is an error: it was drawn at random. */
export function createKey(database: Database, key: NewKey, actor: Actor): Promise<Outcome<ApiKey>> {
  return atomically(database, async (sql) => {
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
      actor,
      action: 'key.create',
      subject: id,
      before: null,
      after: { name, prefix },
    });
    return { id, name, prefix };
  });
}
