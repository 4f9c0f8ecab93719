// Transaction that revokes an API key.

import type { RevokedKey } from '../../contract/console.ts';
import { fail, type LostRight, type Outcome } from '../../contract/failure.ts';
import { isStorable } from '../../contract/text.ts';
import type { Actor } from '../ledger-terms.ts';
import { atomically } from './atomically.ts';
import { insertAudit } from './audit.ts';
import { isoText } from './columns.ts';
import type { Database, Sql } from './database.ts';

type LockedKey = { readonly organizationId: string; readonly revokedAt: string | null };

/**
 * Runs as one transaction under the lock on the key's row: of several callers at once, one revokes the key
 * and is audited, and all of them get the time of that revocation.
 */
export function revokeKey(
  database: Database,
  id: string,
  actor: Actor,
): Promise<Outcome<RevokedKey, 'unknownKey' | LostRight>> {
  return atomically(database, actor, async (sql) => {
    const key = await lockKey(sql, id);
    if (key === undefined) return fail('unknownKey');
    if (key.revokedAt !== null) return { id, revokedAt: key.revokedAt };
    const revokedAt = await storeRevocation(sql, id);
    await insertAudit(sql, {
      organizationId: key.organizationId,
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
