// Statement that reads a device with its version changes.

import type { DeviceDetail, DeviceRecord, VersionChange } from '../../contract/console-fleet.ts';
import { fail, isFailure, type Outcome } from '../../contract/failure.ts';
import { storableText } from '../../contract/text.ts';
import type { Sql } from '../database.ts';
import { isoText, jsonObject } from './column.ts';
import { DEVICE_COLUMNS, type DeviceRow, deviceOf } from './device-row.ts';
import { findApp } from './find-app.ts';

/** Number of version changes that the database keeps per device. */
const CHANGES_MAX = 100;

type Row = DeviceRow & { readonly changes: string };

const CHANGE = jsonObject<VersionChange>({
  at: isoText('change.at'),
  from: 'change.from_version',
  to: 'change.to_version',
});

const DEVICE = `
  SELECT ${DEVICE_COLUMNS}, (
    SELECT coalesce(json_agg(${CHANGE} ORDER BY change.at DESC), '[]')::text
    FROM device_versions AS change
    WHERE change.app_id = devices.app_id AND change.device_id = devices.device_id
  ) AS changes
  FROM devices
  LEFT JOIN releases ON releases.id = devices.last_offered_release_id
  WHERE devices.app_id = $1 AND devices.device_id = $2`;

/** Returns the device and its version changes, newest first, in one consistent read. */
export async function readDevice(
  sql: Sql,
  appName: string,
  deviceId: string,
): Promise<Outcome<DeviceDetail, 'unknownApp' | 'unknownDevice'>> {
  const app = await findApp(sql, undefined, appName);
  if (isFailure(app)) return app;
  const [row] = await sql.query<Row>(DEVICE, [app.id, storableText(deviceId)]);
  if (row === undefined) return fail('unknownDevice');
  const device = deviceOf(row);
  return { ...device, history: historyOf(device, JSON.parse(row.changes)) };
}

/**
 * Adds the device's first version, which has no row of its own, to the stored changes, if they reach back to
 * it.
 */
function historyOf(
  { version, firstSeen }: DeviceRecord,
  changes: readonly VersionChange[],
): readonly VersionChange[] {
  const oldest = changes.at(-1);
  const first = oldest === undefined ? version : oldest.from;
  if (first === null || changes.length >= CHANGES_MAX) return changes;
  return [...changes, { at: firstSeen, from: null, to: first }];
}
