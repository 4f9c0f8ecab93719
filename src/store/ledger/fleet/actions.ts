// SQL of the actions of devices that speak DDI.

import { storableText } from '../../../contract/text.ts';
import type { ActionWrite, RecordedActions, StoredActions } from '../../action-store.ts';
import type { DeviceName } from '../../label-store.ts';
import type { Sql } from '../database/database.ts';

type Row = {
  readonly isRecorded: boolean;
  readonly revision: number | null;
  readonly text: string | null;
};

/** Reads the actions of devices, in the order of `devices`, in one consistent read. */
export async function readActions(
  sql: Sql,
  devices: readonly DeviceName[],
): Promise<readonly RecordedActions[]> {
  if (devices.length === 0) return [];
  const rows = await sql.query<Row>(
    `SELECT devices.device_id IS NOT NULL AS "isRecorded", held.revision, held.actions AS text
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS asked (app_id, device_id, place)
     LEFT JOIN devices USING (app_id, device_id)
     LEFT JOIN device_actions AS held USING (app_id, device_id)
     ORDER BY asked.place`,
    namesOf(devices),
  );
  return devices.map(({ appId, deviceId }, index) => {
    const row = rows[index];
    if (row === undefined) throw new Error(`No row for device ${index} of ${devices.length}`);
    const { isRecorded, revision, text } = row;
    const actions = revision === null || text === null ? undefined : { revision, text };
    return { appId, deviceId, isRecorded, actions };
  });
}

/**
 * Stores actions of devices on record, those of each device at most once. Returns for each whether it was
 * stored: not if the device is not on record, if the record has this revision or a higher one, or another one
 * than is expected. `isUnshared`: the engine does not have them (`readUnsharedActions`).
 */
export async function writeActions(
  sql: Sql,
  writes: readonly ActionWrite[],
  isUnshared: boolean,
): Promise<readonly boolean[]> {
  if (writes.length === 0) return [];
  const rows = await sql.query<{ place: number }>(
    `SELECT place FROM write_device_actions($1::text[], $2::text[], $3::integer[], $4::integer[],
       $5::bigint[], $6::text[], $7::text[], $8::boolean)`,
    [
      ...namesOf(writes),
      writes.map(({ revision }) => revision),
      writes.map(({ expected }) => expected ?? null),
      writes.map(({ changedAt }) => Math.trunc(changedAt)),
      writes.map(({ text }) => storableText(text)),
      writes.map(({ barred }) => `{${barred.join(',')}}`),
      isUnshared,
    ],
  );
  const places = new Set(rows.map(({ place }) => place));
  return writes.map((_, index) => places.has(index + 1));
}

/** Reads at most `limit` devices' actions that were stored while the engine did not answer. */
export async function readUnsharedActions(
  sql: Sql,
  limit: number,
): Promise<readonly StoredActions[]> {
  return sql.query<StoredActions>(
    `SELECT app_id AS "appId", device_id AS "deviceId", revision, actions AS text
     FROM device_actions WHERE is_unshared ORDER BY app_id, device_id LIMIT $1`,
    [limit],
  );
}

/** Notes that the engine has these actions; those that have changed since stay unshared. */
export async function noteSharedActions(sql: Sql, shared: readonly StoredActions[]): Promise<void> {
  await sql.query(
    `UPDATE device_actions SET is_unshared = FALSE
     FROM unnest($1::text[], $2::text[], $3::integer[]) AS shared (app_id, device_id, revision)
     WHERE device_actions.app_id = shared.app_id AND device_actions.device_id = shared.device_id
       AND device_actions.revision = shared.revision`,
    [...namesOf(shared), shared.map(({ revision }) => revision)],
  );
}

/** Returns the first two arguments of a statement about devices. */
function namesOf(devices: readonly DeviceName[]): [appIds: string[], deviceIds: string[]] {
  return [
    devices.map(({ appId }) => storableText(appId)),
    devices.map(({ deviceId }) => storableText(deviceId)),
  ];
}
