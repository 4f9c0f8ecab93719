// Statement that reads the hourly number of an app's devices per channel, version and platform.

import type { AdoptionPoint } from '../../contract/console-fleet.ts';
import { isFailure, type Outcome } from '../../contract/failure.ts';
import { columns, isoText } from './columns.ts';
import type { Sql } from './database.ts';
import { findApp } from './lookups.ts';

const POINT_COLUMNS = columns<AdoptionPoint>({
  hour: isoText('point.hour'),
  channel: 'channel',
  version: 'version',
  platform: 'platform',
  devices: 'devices::integer',
});

/**
 * Returns the hours that begin at `since` or later, oldest first, in one consistent read. An empty version
 * stands for an unknown one.
 */
export async function readAdoption(
  sql: Sql,
  appName: string,
  since: string,
): Promise<Outcome<readonly AdoptionPoint[], 'unknownApp'>> {
  const app = await findApp(sql, undefined, appName);
  if (isFailure(app)) return app;
  return sql.query<AdoptionPoint>(
    `SELECT ${POINT_COLUMNS} FROM fleet_hours AS point
     WHERE app_id = $1 AND point.hour >= $2::timestamptz AND devices > 0
     ORDER BY point.hour, channel, version, platform`,
    [app.id, since],
  );
}
