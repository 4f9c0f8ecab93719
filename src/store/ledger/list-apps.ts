// Statement that lists an organization's apps.

import type { App } from '../../contract/resource.ts';
import { isStorable } from '../../contract/text.ts';
import { type Reach, reachValues } from '../reach.ts';
import { columns } from './columns.ts';
import type { Sql } from './database.ts';

const APP_COLUMNS = columns<App>({
  id: 'id',
  name: 'name',
  ref: 'ref',
  channels: `(
    SELECT coalesce(json_agg(channels.name ORDER BY channels.name), '[]'::json)
    FROM channels WHERE channels.app_id = apps.id
  )`,
});

/** Returns apps by ref, each with its channels by name, in one consistent read. */
export async function listApps(sql: Sql, reach: Reach): Promise<readonly App[]> {
  const [organizationId, appIds] = reachValues(reach);
  if (!isStorable(organizationId)) return [];
  return sql.query<App>(
    `SELECT ${APP_COLUMNS} FROM apps
     WHERE organization_id = $1 AND ($2::text[] IS NULL OR id = ANY ($2)) ORDER BY ref`,
    [organizationId, appIds],
  );
}
