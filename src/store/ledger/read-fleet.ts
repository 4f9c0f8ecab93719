// Statement that reads the present number of an app's devices per channel, version and platform.

import type { FleetCell } from '../../contract/console-fleet.ts';
import { isFailure, type Outcome } from '../../contract/failure.ts';
import { columns } from './columns.ts';
import type { Sql } from './database.ts';
import { findApp } from './lookups.ts';

const CELL_COLUMNS = columns<FleetCell>({
  channel: 'channel',
  version: 'version',
  platform: 'platform',
  devices: 'devices::integer',
});

/**
 * Returns the counts that check-ins maintain, in one consistent read. An empty version stands for an unknown
 * one.
 */
export async function readFleet(
  sql: Sql,
  appName: string,
): Promise<Outcome<readonly FleetCell[], 'unknownApp'>> {
  const app = await findApp(sql, undefined, appName);
  if (isFailure(app)) return app;
  return sql.query<FleetCell>(
    `SELECT ${CELL_COLUMNS} FROM fleet_counts
     WHERE app_id = $1 AND devices > 0 ORDER BY channel, version, platform`,
    [app.id],
  );
}
