// How many devices an app had where, hour by hour.

import { isFailure, type Outcome } from '../../contract/failure.ts';
import type { AdoptionPoint } from '../../ports/fleet-ledger.ts';
import type { Sql } from '../database.ts';
import { findApp } from './find-app.ts';
import { isoText } from './iso-text.ts';

/** One consistent read of the hours that begin at `since` or later; the empty version is an unknown one. */
export async function readAdoption(
  sql: Sql,
  appName: string,
  since: string,
): Promise<Outcome<readonly AdoptionPoint[]>> {
  const app = await findApp(sql, undefined, appName);
  if (isFailure(app)) return app;
  return sql.query(
    `SELECT ${isoText('point.hour')} AS hour, channel, version, platform,
       devices::integer AS devices
     FROM fleet_hours AS point
     WHERE app_id = $1 AND point.hour >= $2::timestamptz AND devices > 0
     ORDER BY point.hour, channel, version, platform`,
    [app.id, since],
  );
}
