// Statement that reads an API key for authentication.

import { isStorable } from '../../contract/text.ts';
import type { StoredKey } from '../ledger.ts';
import { isoText } from './columns.ts';
import type { Sql } from './database.ts';

/** Reads the key afresh: as soon as a revocation is acknowledged, every read returns the key as revoked. */
export async function findKey(sql: Sql, prefix: string): Promise<StoredKey | undefined> {
  if (!isStorable(prefix)) return undefined;
  const rows = await sql.query<StoredKey>(
    `SELECT id, name, organization_id AS "organizationId", secret_hash AS "secretHash",
       ${isoText('revoked_at')} AS "revokedAt", app_ids AS "appIds", may,
       coalesce(expires_at <= clock_timestamp(), false) AS "isOver"
     FROM api_keys WHERE prefix = $1`,
    [prefix],
  );
  return rows[0];
}
