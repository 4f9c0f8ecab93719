// A page of an app's devices.

import { isFailure, type Outcome } from '../../contract/failure.ts';
import type { DeviceFilter, DevicePage } from '../../ports/fleet-ledger.ts';
import type { Sql } from '../database.ts';
import { DEVICE_COLUMNS, type DeviceRow, deviceOf } from './device-row.ts';
import { findApp } from './find-app.ts';
import { storableText } from './storable-text.ts';

/** `page` is made first: only its rows are worth the look at their releases. */
const PAGE = `
  WITH page AS (
    SELECT app_id, device_id FROM devices
    WHERE app_id = $1
      AND ($2::text IS NULL OR device_id > $2)
      AND ($3::text IS NULL OR version = $3)
      AND ($4::text IS NULL OR channel = $4)
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

/** By device id, from after the last one of the page before; one row more tells whether there is a next. */
export async function listDevices(
  sql: Sql,
  appName: string,
  filter: DeviceFilter,
): Promise<Outcome<DevicePage>> {
  const app = await findApp(sql, undefined, appName);
  if (isFailure(app)) return app;
  const { after, version, channel, platform, label, seenSince, limit } = filter;
  const rows = await sql.query<DeviceRow>(PAGE, [
    app.id,
    orNull(after),
    orNull(version),
    orNull(channel),
    orNull(platform),
    orNull(label?.key),
    orNull(label?.value),
    seenSince ?? null,
    limit + 1,
  ]);
  const devices = rows.slice(0, limit).map(deviceOf);
  return { devices, next: rows.length > limit ? (devices.at(-1)?.deviceId ?? null) : null };
}

/** A filter means what it would have been stored as. */
function orNull(text: string | undefined): string | null {
  return text === undefined ? null : storableText(text);
}
