// Statement that reads a device with its version changes.

import type { DeviceDetail, DeviceRecord, VersionChange } from '../../contract/console-fleet.ts';
import { fail, isFailure, type Outcome } from '../../contract/failure.ts';
import { storableText } from '../../contract/text.ts';
import { isoText, jsonObject } from './columns.ts';
import type { Sql } from './database.ts';
import { DEVICE_COLUMNS, type DeviceRow, deviceOf } from './device-row.ts';
import { findApp } from './lookups.ts';

type Row = DeviceRow & {
  /** Newest version changes, as the text of a JSON array. */
  readonly changes: string;
  /** Number of changes that the device ever had. */
  readonly changeCount: number;
};

const CHANGE = jsonObject<VersionChange>({
  at: isoText('change.at'),
  from: 'change.from_version',
  to: 'change.to_version',
});

const DEVICE = `
  SELECT ${DEVICE_COLUMNS}, (
    SELECT coalesce(json_agg(${CHANGE} ORDER BY change.later), '[]')::text
    FROM (
      SELECT at, from_version, to_version, later, row_number() OVER (ORDER BY later) AS number
      FROM device_versions, changes_after(slot, devices.version_changes) AS later
      WHERE app_id = devices.app_id AND device_id = devices.device_id
    ) AS change
    WHERE change.later < $3::integer AND change.later = change.number - 1
  ) AS changes, devices.version_changes AS "changeCount"
  FROM devices
  LEFT JOIN releases ON releases.id = devices.last_offered_release_id
  WHERE devices.app_id = $1 AND devices.device_id = $2`;

/**
 * Returns the device and its newest version changes, newest first, in one consistent read. The database may
 * have more of them than the history is to have, because the rest is deleted later. What is older than a
 * change that a shorter history deleted is left out, because the versions would not follow each other.
 */
export async function readDevice(
  sql: Sql,
  appName: string,
  deviceId: string,
  history: number,
): Promise<Outcome<DeviceDetail, 'unknownApp' | 'unknownDevice'>> {
  const app = await findApp(sql, undefined, appName);
  if (isFailure(app)) return app;
  const [row] = await sql.query<Row>(DEVICE, [app.id, storableText(deviceId), history]);
  if (row === undefined) return fail('unknownDevice');
  const device = deviceOf(row);
  const changes: readonly VersionChange[] = JSON.parse(row.changes);
  const isWhole = changes.length === row.changeCount && changes.length < history;
  return { ...device, history: isWhole ? withFirst(device, changes) : changes };
}

/** Adds the device's first version, which has no row of its own, to the changes that reach back to it. */
function withFirst(
  { version, firstSeen }: DeviceRecord,
  changes: readonly VersionChange[],
): readonly VersionChange[] {
  const oldest = changes.at(-1);
  const first = oldest === undefined ? version : oldest.from;
  if (first === null) return changes;
  return [...changes, { at: firstSeen, from: null, to: first }];
}
