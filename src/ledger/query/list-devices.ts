// Statement that reads a page of an app's devices.

import type { DevicePage } from '../../contract/console-fleet.ts';
import { isFailure, type Outcome } from '../../contract/failure.ts';
import { storableText } from '../../contract/text.ts';
import { compareVersions, parseVersion } from '../../domain/decision/version.ts';
import type { DeviceFilter } from '../../ports/fleet-ledger.ts';
import type { Sql } from '../database.ts';
import { DEVICE_COLUMNS, type DeviceRow, deviceOf } from './device-row.ts';
import { findApp } from './find-app.ts';

/** Maximum number of devices that a page searches, because most filters have no index. */
const LOOKED_AT_MAX = 20_000;

const LOOKED_AT = `FROM devices
  WHERE app_id = $1
    AND ($2::text IS NULL OR device_id > $2)
    AND ($3::text IS NULL OR version = $3)
    AND ($4::text[] IS NULL OR version = ANY ($4))
  ORDER BY device_id`;

/** Statement of a page. It selects the page's devices first, so that only their releases are joined. */
const PAGE = `
  WITH page AS (
    SELECT app_id, device_id
    FROM (SELECT * ${LOOKED_AT} LIMIT ${LOOKED_AT_MAX}) AS looked_at
    WHERE ($5::text IS NULL OR channel = $5)
      AND ($6::text IS NULL OR platform = $6)
      AND ($7::text IS NULL OR labels ->> $7 = $8)
      AND ($9::timestamptz IS NULL OR last_seen >= $9)
      AND ($11::text IS NULL AND $12::text IS NULL OR EXISTS (
        SELECT FROM releases WHERE releases.id = looked_at.last_offered_release_id
          AND ($11::text IS NULL OR releases.canonical_version = $11)
          AND ($12::text IS NULL OR (releases.canonical_version = looked_at.version) = ($12 = 'yes'))
      ))
    ORDER BY device_id LIMIT $10
  )
  SELECT ${DEVICE_COLUMNS}
  FROM page
  JOIN devices USING (app_id, device_id)
  LEFT JOIN releases ON releases.id = devices.last_offered_release_id
  ORDER BY devices.device_id`;

/** Statement that finds the last device that a page has searched; no row when fewer were left. */
const LAST_LOOKED_AT = `SELECT device_id AS "deviceId" ${LOOKED_AT} OFFSET ${LOOKED_AT_MAX - 1} LIMIT 1`;

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
  const { after, version, channel, platform, label, seenSince, limit } = filter;
  const among = [app.id, orNull(after), orNull(version), await versionsBelow(sql, app.id, filter)];
  const rows = await sql.query<DeviceRow>(PAGE, [
    ...among,
    orNull(channel),
    orNull(platform),
    orNull(label?.key),
    orNull(label?.value),
    seenSince ?? null,
    limit + 1,
    orNull(filter.offered),
    filter.moved ?? null,
  ]);
  const devices = rows.slice(0, limit).map(deviceOf);
  if (rows.length > limit) return { devices, next: devices.at(-1)?.deviceId ?? null };
  const [last] = await sql.query<{ deviceId: string }>(LAST_LOOKED_AT, among);
  return { devices, next: last?.deviceId ?? null };
}

/**
 * Returns the versions that the filter's `below` is higher than, of those that the app's devices run; null
 * without one. They are compared here, because the database does not know the order of versions.
 */
async function versionsBelow(
  sql: Sql,
  appId: string,
  { below = '' }: DeviceFilter,
): Promise<readonly string[] | null> {
  const limit = parseVersion(below);
  if (limit === undefined) return null;
  const rows = await sql.query<{ version: string }>(
    'SELECT DISTINCT version FROM fleet_counts WHERE app_id = $1 AND devices > 0',
    [appId],
  );
  return rows
    .map(({ version }) => version)
    .filter((text) => {
      const version = parseVersion(text);
      return version !== undefined && compareVersions(version, limit) < 0;
    });
}

/** Returns the text as it would have been stored, which is what a filter must match. */
function orNull(text: string | undefined): string | null {
  return text === undefined ? null : storableText(text);
}
