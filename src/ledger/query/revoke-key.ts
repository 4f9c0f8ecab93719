// The end of an API key.

import { fail, type Outcome } from '../../contract/failure.ts';
import type { Actor } from '../../ports/ledger.ts';
import { atomically } from '../atomically.ts';
import type { Database, Sql } from '../database.ts';
import { insertAudit } from './insert-audit.ts';
import { isStorable } from './is-storable.ts';
import { isoText } from './iso-text.ts';

type LockedKey = { readonly organizationId: string; readonly revokedAt: string | null };

/**
 * One transaction under the key's row lock: of several callers at once one revokes and is audited, and
 * all get the time at which that was.
 */
export function revokeKey(
  database: Database,
  id: string,
  actor: Actor,
): Promise<Outcome<{ id: string; revokedAt: string }>> {
  return atomically(database, async (sql) => {
    const key = await lockKey(sql, id);
    if (key === undefined) return fail('unknownKey');
    if (key.revokedAt !== null) return { id, revokedAt: key.revokedAt };
    const revokedAt = await storeRevocation(sql, id);
    await insertAudit(sql, {
      organizationId: key.organizationId,
      actor,
      action: 'key.revoke',
      subject: id,
      before: { revokedAt: null },
      after: { revokedAt },
    });
    return { id, revokedAt };
  });
}

async function lockKey(sql: Sql, id: string): Promise<LockedKey | undefined> {
  if (!isStorable(id)) return undefined;
  const rows = await sql.query<LockedKey>(
    `SELECT organization_id AS "organizationId", ${isoText('revoked_at')} AS "revokedAt"
     FROM api_keys WHERE id = $1 FOR UPDATE`,
    [id],
  );
  return rows[0];
}

async function storeRevocation(sql: Sql, id: string): Promise<string> {
  const rows = await sql.query<{ revokedAt: string }>(
    `UPDATE api_keys SET revoked_at = clock_timestamp() WHERE id = $1
     RETURNING ${isoText('revoked_at')} AS "revokedAt"`,
    [id],
  );
  if (rows[0] === undefined) throw new Error(`Locked key ${id} has no row`);
  return rows[0].revokedAt;
}
