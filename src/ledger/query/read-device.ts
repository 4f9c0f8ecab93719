// One device with what it ran.

import { fail, isFailure, type Outcome } from '../../contract/failure.ts';
import type { DeviceRecord, VersionChange } from '../../ports/fleet-ledger.ts';
import type { Sql } from '../database.ts';
import { DEVICE_COLUMNS, type DeviceRow, deviceOf } from './device-row.ts';
import { findApp } from './find-app.ts';
import { isoText } from './iso-text.ts';
import { storableText } from './storable-text.ts';

const CHANGES_MAX = 100;

type Row = DeviceRow & { readonly changes: string };

const DEVICE = `
  SELECT ${DEVICE_COLUMNS}, (
    SELECT coalesce(json_agg(json_build_object(
      'at', ${isoText('change.at')}, 'from', change.from_version, 'to', change.to_version
    ) ORDER BY change.at DESC), '[]')::text
    FROM device_versions AS change
    WHERE change.app_id = devices.app_id AND change.device_id = devices.device_id
  ) AS changes
  FROM devices
  LEFT JOIN releases ON releases.id = devices.last_offered_release_id
  WHERE devices.app_id = $1 AND devices.device_id = $2`;

/** One consistent read of the device and its version changes, newest first. */
export async function readDevice(
  sql: Sql,
  appName: string,
  deviceId: string,
): Promise<Outcome<DeviceRecord & { readonly history: readonly VersionChange[] }>> {
  const app = await findApp(sql, undefined, appName);
  if (isFailure(app)) return app;
  const [row] = await sql.query<Row>(DEVICE, [app.id, storableText(deviceId)]);
  if (row === undefined) return fail('unknownDevice');
  const device = deviceOf(row);
  return { ...device, history: historyOf(device, JSON.parse(row.changes)) };
}

/** The stored changes and, where they reach back to it, the first version, which has no row of its own. */
function historyOf(
  { version, firstSeen }: DeviceRecord,
  changes: readonly VersionChange[],
): readonly VersionChange[] {
  const oldest = changes.at(-1);
  const first = oldest === undefined ? version : oldest.from;
  if (first === null || changes.length >= CHANGES_MAX) return changes;
  return [...changes, { at: firstSeen, from: null, to: first }];
}
