// Statement that reads a page of an app's devices.

import type { DevicePage } from '../../contract/console-fleet.ts';
import { isFailure, type Outcome } from '../../contract/failure.ts';
import { storableText } from '../../contract/text.ts';
import type { DeviceFilter } from '../fleet-ledger.ts';
import type { Sql } from './database.ts';
import { deviceConditions, OTHER_CONDITIONS, VERSION_CONDITIONS } from './device-conditions.ts';
import { DEVICE_COLUMNS, type DeviceRow, deviceOf } from './device-row.ts';
import { findApp } from './lookups.ts';

/** Maximum number of devices that a page searches, because most filters have no index. */
const LOOKED_AT_MAX = 20_000;

/** Devices that a page searches, after the one in this parameter. */
const lookedAt = (after: string) => `FROM devices
  WHERE app_id = $1 AND (${after}::text IS NULL OR device_id > ${after}) AND ${VERSION_CONDITIONS}
  ORDER BY device_id`;

/** Statement of a page. It selects the page's devices first, so that only their releases are joined. */
const PAGE = `
  WITH page AS (
    SELECT app_id, device_id
    FROM (SELECT * ${lookedAt('$11')} LIMIT ${LOOKED_AT_MAX}) AS looked_at
    WHERE ${OTHER_CONDITIONS}
    ORDER BY device_id LIMIT $12
  )
  SELECT ${DEVICE_COLUMNS}
  FROM page
  JOIN devices USING (app_id, device_id)
  LEFT JOIN releases ON releases.id = devices.last_offered_release_id
  ORDER BY devices.device_id`;

/** Statement that finds the last device that a page has searched; no row when fewer were left. */
const LAST_LOOKED_AT = `
  SELECT device_id AS "deviceId" ${lookedAt('$4')} OFFSET ${LOOKED_AT_MAX - 1} LIMIT 1`;

/**
 * Returns devices by device id, beginning after the last one of the previous page. Reads one row more than
 * asked for, to know whether there is a next page. If few of many devices match the filter, a page may have
 * fewer devices than asked for, or none, and still a next page.
 */
export async function listDevices(
  sql: Sql,
  appName: string,
  filter: DeviceFilter,
): Promise<Outcome<DevicePage, 'unknownApp'>> {
  const app = await findApp(sql, undefined, appName);
  if (isFailure(app)) return app;
  const { limit } = filter;
  const after = filter.after === undefined ? null : storableText(filter.after);
  const conditions = await deviceConditions(sql, app.id, filter);
  const rows = await sql.query<DeviceRow>(PAGE, [...conditions, after, limit + 1]);
  const devices = rows.slice(0, limit).map(deviceOf);
  if (rows.length > limit) return { devices, next: devices.at(-1)?.deviceId ?? null };
  const [last] = await sql.query<{ deviceId: string }>(LAST_LOOKED_AT, [
    ...conditions.slice(0, 3),
    after,
  ]);
  return { devices, next: last?.deviceId ?? null };
}
