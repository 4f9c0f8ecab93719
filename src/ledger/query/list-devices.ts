// A page of an app's devices.

import { isFailure, type Outcome } from '../../contract/failure.ts';
import type { DeviceFilter, DevicePage } from '../../ports/fleet-ledger.ts';
import type { Sql } from '../database.ts';
import { DEVICE_COLUMNS, type DeviceRow, deviceOf } from './device-row.ts';
import { findApp } from './find-app.ts';
import { storableText } from './storable-text.ts';

/** How many devices a page looks at: there is no index on most of what can be asked for. */
const LOOKED_AT_MAX = 20_000;

const LOOKED_AT = `FROM devices
  WHERE app_id = $1
    AND ($2::text IS NULL OR device_id > $2)
    AND ($3::text IS NULL OR version = $3)
  ORDER BY device_id`;

/** `page` is made first: only its rows are worth the look at their releases. */
const PAGE = `
  WITH page AS (
    SELECT app_id, device_id
    FROM (SELECT * ${LOOKED_AT} LIMIT ${LOOKED_AT_MAX}) AS looked_at
    WHERE ($4::text IS NULL OR channel = $4)
      AND ($5::text IS NULL OR platform = $5)
      AND ($6::text IS NULL OR labels ->> $6 = $7)
      AND ($8::timestamptz IS NULL OR last_seen >= $8)
    ORDER BY device_id LIMIT $9
  )
  SELECT ${DEVICE_COLUMNS}
  FROM page
  JOIN devices USING (app_id, device_id)
  LEFT JOIN releases ON releases.id = devices.last_offered_release_id
  ORDER BY devices.device_id`;

/** The last device that a page has looked at, when there may be others after it. */
const LAST_LOOKED_AT = `SELECT device_id AS "deviceId" ${LOOKED_AT} OFFSET ${LOOKED_AT_MAX - 1} LIMIT 1`;

/**
 * By device id, from after the last one of the page before; one row more tells whether there is a next.
 * When few of many devices are asked for, a page may have less than it could hold, and still a next one.
 */
export async function listDevices(
  sql: Sql,
  appName: string,
  filter: DeviceFilter,
): Promise<Outcome<DevicePage>> {
  const app = await findApp(sql, undefined, appName);
  if (isFailure(app)) return app;
  const { after, version, channel, platform, label, seenSince, limit } = filter;
  const among = [app.id, orNull(after), orNull(version)];
  const rows = await sql.query<DeviceRow>(PAGE, [
    ...among,
    orNull(channel),
    orNull(platform),
    orNull(label?.key),
    orNull(label?.value),
    seenSince ?? null,
    limit + 1,
  ]);
  const devices = rows.slice(0, limit).map(deviceOf);
  if (rows.length > limit) return { devices, next: devices.at(-1)?.deviceId ?? null };
  const [last] = await sql.query<{ deviceId: string }>(LAST_LOOKED_AT, among);
  return { devices, next: last?.deviceId ?? null };
}

/** A filter means what it would have been stored as. */
function orNull(text: string | undefined): string | null {
  return text === undefined ? null : storableText(text);
}
