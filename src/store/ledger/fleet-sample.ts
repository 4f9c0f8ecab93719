// Bounded sample of an app's devices, for counts that check-ins do not maintain. The columns that are asked
// for have no index, because an index would make every check-in dearer. So counts of a large fleet are
// estimated from a sample of its devices.

import type { Sql } from './database.ts';

export type FleetSample = {
  /** A table expression named `devices`, for statements whose $1 is the app's id. */
  readonly from: string;
  /** Number of devices that the app has. */
  readonly total: number;
  /** Whether the sample is the whole fleet. */
  readonly isWhole: boolean;
};

/** Minimum number of devices that is worth an estimate. */
const SAMPLE_DEVICES_MIN = 2000;

/**
 * Chooses the sample: all devices of a small fleet; the devices in a part of the table's pages for a large
 * one, the same pages each time, so that numbers do not flicker. Where those pages would hold too few of the
 * app's devices, because the table is far larger than the fleet, the sample is the first devices by id.
 */
export async function fleetSample(sql: Sql, appId: string): Promise<FleetSample> {
  const [size] = await sql.query<{ total: number; pages: number }>(
    `SELECT coalesce(sum(devices), 0)::float8 AS total, (${TABLE_PAGES})::float8 AS pages
     FROM fleet_counts WHERE app_id = $1`,
    [appId],
  );
  const { total = 0, pages = 0 } = size ?? {};
  const share = Math.min(SAMPLE_DEVICES / total, SAMPLE_PAGES_MAX / pages);
  const isWhole = total <= SAMPLE_DEVICES;
  const from =
    isWhole || total * share < SAMPLE_DEVICES_MIN
      ? `(SELECT * FROM devices WHERE app_id = $1 ORDER BY device_id LIMIT ${SAMPLE_DEVICES}) AS devices`
      : `(SELECT * FROM ${sampledTable(share)} WHERE app_id = $1) AS devices`;
  return { from, total, isWhole };
}

/** Maximum number of devices that are counted one by one. */
export const SAMPLE_DEVICES = 20_000;
/** Maximum number of table pages that a sample reads; devices of other apps lie between those of the app. */
export const SAMPLE_PAGES_MAX = 2500;

/** SQL expression of the number of pages of the table of devices. */
export const TABLE_PAGES = 'device_pages()';

/** Returns the table expression of a share (0 to 1) of the devices, always the same part. */
export function sampledTable(share: number): string {
  const percent = Math.min(100, Math.max(0.0001, share * 100)).toFixed(4);
  return `devices TABLESAMPLE SYSTEM (${percent}) REPEATABLE (1)`;
}

/** Estimates the count in all `total` devices from the count in the `looked` devices of a sample. */
export function extrapolate(count: number, looked: number, total: number): number {
  return looked === 0 ? 0 : Math.min(total, Math.round((count / looked) * total));
}
