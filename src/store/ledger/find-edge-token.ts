// Statement that reads a token of edges for authentication.

import { isStorable } from '../../contract/text.ts';
import type { StoredEdgeToken } from '../edge-ledger.ts';
import type { Sql } from './database.ts';

/** Reads the token afresh: as soon as a revocation is acknowledged, every read returns it as revoked. */
export async function findEdgeToken(
  sql: Sql,
  prefix: string,
): Promise<StoredEdgeToken | undefined> {
  if (!isStorable(prefix)) return undefined;
  const rows = await sql.query<StoredEdgeToken>(
    `SELECT id, organization_id AS "organizationId", secret_hash AS "secretHash",
       revoked_at IS NOT NULL AS "isRevoked"
     FROM edge_tokens WHERE prefix = $1`,
    [prefix],
  );
  return rows[0];
}
