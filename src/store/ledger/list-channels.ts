// Statement that lists the channels of an app with their settings.

import { isFailure, type Outcome } from '../../contract/failure.ts';
import type { ListedChannel } from '../../contract/resource.ts';
import type { Reach } from '../reach.ts';
import { POLICY_COLUMNS } from './columns.ts';
import type { Sql } from './database.ts';
import { findApp } from './lookups.ts';

/** Lists the channels of the organization's app by name. */
export async function listChannels(
  sql: Sql,
  reach: Reach,
  appName: string,
): Promise<Outcome<readonly ListedChannel[], 'unknownApp'>> {
  const app = await findApp(sql, reach, appName);
  if (isFailure(app)) return app;
  return sql.query<ListedChannel>(
    `SELECT name, ${POLICY_COLUMNS} FROM channels WHERE app_id = $1 ORDER BY name`,
    [app.id],
  );
}
