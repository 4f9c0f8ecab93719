// A key as authentication needs it.

import type { StoredKey } from '../../ports/ledger.ts';
import type { Sql } from '../database.ts';
import { isStorable } from './is-storable.ts';
import { isoText } from './iso-text.ts';

/** One read: a key whose revocation was acknowledged comes back with it. */
export async function findKey(sql: Sql, prefix: string): Promise<StoredKey | undefined> {
  if (!isStorable(prefix)) return undefined;
  const rows = await sql.query<StoredKey>(
    `SELECT id, name, organization_id AS "organizationId", secret_hash AS "secretHash",
       ${isoText('revoked_at')} AS "revokedAt"
     FROM api_keys WHERE prefix = $1`,
    [prefix],
  );
  return rows[0];
}
