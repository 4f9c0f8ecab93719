// Statement that reads the labels of devices.

import { storableText } from '../../contract/text.ts';
import type { RecordedLabels } from '../fleet-ledger.ts';
import type { DeviceName } from '../label-store.ts';
import type { Sql } from './database.ts';
import { parseLabels } from './labels-text.ts';

type Row = { readonly labels: string; readonly revision: number; readonly isRecorded: boolean };

/**
 * Returns the labels in the order of `devices`, in one consistent read. An unknown device has no labels, at
 * revision 0.
 */
export async function readLabels(
  sql: Sql,
  devices: readonly DeviceName[],
): Promise<readonly RecordedLabels[]> {
  if (devices.length === 0) return [];
  const rows = await sql.query<Row>(
    `SELECT coalesce(devices.labels, '{}')::text AS labels,
       coalesce(devices.labels_revision, 0) AS revision,
       devices.first_seen IS NOT NULL AS "isRecorded"
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS asked (app_id, device_id, place)
     LEFT JOIN devices USING (app_id, device_id) ORDER BY asked.place`,
    [
      devices.map(({ appId }) => storableText(appId)),
      devices.map(({ deviceId }) => storableText(deviceId)),
    ],
  );
  return devices.map(({ appId, deviceId }, index) => {
    const row = rows[index];
    if (row === undefined) throw new Error(`No row for device ${index} of ${devices.length}`);
    const { revision, isRecorded } = row;
    return { appId, deviceId, labels: parseLabels(row.labels), revision, isRecorded };
  });
}
