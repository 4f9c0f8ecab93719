// Statement that reads which devices were recorded for callers that waited.

import type { DeviceName } from '../label-store.ts';
import { columns } from './columns.ts';
import type { Sql } from './database.ts';

const DEVICE_COLUMNS = columns<DeviceName>({
  appId: 'awaited_devices.app_id',
  deviceId: 'awaited_devices.device_id',
});

/**
 * Returns the devices after the number of each part, by the primary key. Numbers are given under the lock of
 * the part, so none comes before one that was read. Returns undefined when there are more than `limit`.
 */
export async function readAwaited(
  sql: Sql,
  parts: readonly number[],
  since: readonly number[],
  limit: number,
): Promise<readonly DeviceName[] | undefined> {
  const devices = await sql.query<DeviceName>(
    `SELECT ${DEVICE_COLUMNS}
     FROM unnest($1::smallint[], $2::bigint[]) AS known (part, number)
     JOIN awaited_devices ON awaited_devices.part = known.part
       AND awaited_devices.number > known.number
     LIMIT $3`,
    [parts, since, limit + 1],
  );
  return devices.length > limit ? undefined : devices;
}
