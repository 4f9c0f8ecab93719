// Where the devices of an app are now.

import { isFailure, type Outcome } from '../../contract/failure.ts';
import type { AdoptionPoint } from '../../ports/fleet-ledger.ts';
import type { Sql } from '../database.ts';
import { findApp } from './find-app.ts';

/** One consistent read of the counts that check-ins maintain; the empty version is an unknown one. */
export async function readFleet(
  sql: Sql,
  appName: string,
): Promise<Outcome<readonly Omit<AdoptionPoint, 'hour'>[]>> {
  const app = await findApp(sql, undefined, appName);
  if (isFailure(app)) return app;
  return sql.query(
    `SELECT channel, version, platform, devices::integer AS devices
     FROM fleet_counts WHERE app_id = $1 AND devices > 0 ORDER BY channel, version, platform`,
    [app.id],
  );
}
