// An organization's apps.

import type { App } from '../../contract/resource.ts';
import type { Sql } from '../database.ts';
import { isStorable } from './is-storable.ts';

/** One consistent read: apps by ref, each with its channels by name. */
export async function listApps(sql: Sql, organizationId: string): Promise<readonly App[]> {
  if (!isStorable(organizationId)) return [];
  return sql.query<App>(
    `SELECT id, name, ref, (
       SELECT coalesce(json_agg(channels.name ORDER BY channels.name), '[]'::json)
       FROM channels WHERE channels.app_id = apps.id
     ) AS channels
     FROM apps WHERE organization_id = $1 ORDER BY ref`,
    [organizationId],
  );
}
