// Transaction that revokes a token of edges.

import type { RevokedEdgeToken } from '../../contract/edge-token.ts';
import { fail, type LostRight, type Outcome } from '../../contract/failure.ts';
import { isStorable } from '../../contract/text.ts';
import type { EdgeScope } from '../edge-ledger.ts';
import type { Actor } from '../ledger-terms.ts';
import { atomically } from './atomically.ts';
import { isoText } from './columns.ts';
import type { Database, Sql } from './database.ts';
import { insertEdgeTokenAudit } from './insert-edge-token-audit.ts';

type LockedToken = { readonly organizationId: EdgeScope; readonly revokedAt: string | null };

/**
 * Runs as one transaction under the lock on the token's row: of several callers at once, one revokes the
 * token and is audited, and all of them get the time of that revocation.
 */
export function revokeEdgeToken(
  database: Database,
  id: string,
  actor: Actor,
): Promise<Outcome<RevokedEdgeToken, 'unknownEdgeToken' | LostRight>> {
  return atomically(database, actor, async (sql) => {
    const token = await lockToken(sql, id);
    if (token === undefined) return fail('unknownEdgeToken');
    if (token.revokedAt !== null) return { id, revokedAt: token.revokedAt };
    const rows = await sql.query<{ revokedAt: string }>(
      `UPDATE edge_tokens SET revoked_at = clock_timestamp() WHERE id = $1
       RETURNING ${isoText('revoked_at')} AS "revokedAt"`,
      [id],
    );
    const [revoked] = rows;
    if (revoked === undefined) throw new Error(`Locked edge token ${id} has no row`);
    const change = { before: { revokedAt: null }, after: revoked };
    await insertEdgeTokenAudit(sql, token.organizationId, 'edge-token.revoke', { id, ...change });
    return { id, ...revoked };
  });
}

async function lockToken(sql: Sql, id: string): Promise<LockedToken | undefined> {
  if (!isStorable(id)) return undefined;
  const rows = await sql.query<LockedToken>(
    `SELECT organization_id AS "organizationId", ${isoText('revoked_at')} AS "revokedAt"
     FROM edge_tokens WHERE id = $1 FOR UPDATE`,
    [id],
  );
  return rows[0];
}
