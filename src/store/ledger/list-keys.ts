// Statement that lists an organization's API keys, with their last use and their revocation.

import { LIMIT } from '../../contract/limit.ts';
import { KEY_RIGHTS, type ListedKey } from '../../contract/resource.ts';
import { columns, isoText } from './columns.ts';
import type { Sql } from './database.ts';

const KEY_COLUMNS = columns<ListedKey>({
  id: 'id',
  name: 'name',
  prefix: 'prefix',
  createdAt: isoText('created_at'),
  createdBy: 'created_by',
  apps: `(
    SELECT json_agg(apps.ref ORDER BY apps.ref) FROM apps WHERE apps.id = ANY (api_keys.app_ids)
  )`,
  may: `coalesce(may, '{${KEY_RIGHTS.join(',')}}')`,
  expiresAt: isoText('expires_at'),
  lastUsedAt: isoText('last_used_at'),
  lastUsedFrom: 'last_used_from',
  revokedAt: isoText('revoked_at'),
});

/** Returns active and revoked keys, newest first. */
export function listKeys(sql: Sql, organizationId: string): Promise<readonly ListedKey[]> {
  return sql.query<ListedKey>(
    `SELECT ${KEY_COLUMNS} FROM api_keys WHERE organization_id = $1
     ORDER BY api_keys.created_at DESC, id DESC LIMIT ${LIMIT.keysShownMax}`,
    [organizationId],
  );
}
