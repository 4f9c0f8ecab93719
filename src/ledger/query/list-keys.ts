// An organization's API keys, with what became of them.

import { LIMIT } from '../../contract/limit.ts';
import type { ListedKey } from '../../contract/resource.ts';
import type { Sql } from '../database.ts';
import { isoText } from './iso-text.ts';

/** One read, newest first. */
export function listKeys(sql: Sql, organizationId: string): Promise<readonly ListedKey[]> {
  return sql.query<ListedKey>(
    `SELECT id, name, prefix, ${isoText('created_at')} AS "createdAt", created_by AS "createdBy",
       ${isoText('last_used_at')} AS "lastUsedAt", ${isoText('revoked_at')} AS "revokedAt"
     FROM api_keys WHERE organization_id = $1
     ORDER BY api_keys.created_at DESC, id DESC LIMIT ${LIMIT.keysShownMax}`,
    [organizationId],
  );
}
