// A bounded part of an app's devices, for what nobody counts. There is no index on what is asked here (each
// would cost every check-in), so of a large fleet some devices are looked at, and the rest is assumed to be
// like them.

import type { Sql } from '../database.ts';

export type FleetSample = {
  /** A table expression named `devices`, for statements whose $1 is the app's id. */
  readonly from: string;
  /** How many devices the app has. */
  readonly total: number;
  /** Whether it has all of them. */
  readonly isWhole: boolean;
};

/** Fewer than so many say too little. */
const SAMPLE_DEVICES_MIN = 2000;

/**
 * All devices of a small fleet; of a large one those in a part of the table's pages, the same pages each
 * time, so that numbers do not flicker. Where these would hold too few of the app's, the first ones by id:
 * a fleet that is large itself, in a table that is far larger.
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

/** Up to so many devices are looked at one by one. */
export const SAMPLE_DEVICES = 20_000;
/** How much of the table a sample may read: other apps' devices lie between those of this one. */
export const SAMPLE_PAGES_MAX = 2500;

/** The pages of the table of devices, as an expression. */
export const TABLE_PAGES = `pg_relation_size('devices') / current_setting('block_size')::bigint`;

/** A share (0 to 1) of the table of devices, always the same part. */
export function sampledTable(share: number): string {
  const percent = Math.min(100, Math.max(0.0001, share * 100)).toFixed(4);
  return `devices TABLESAMPLE SYSTEM (${percent}) REPEATABLE (1)`;
}

/** What a count in `looked` devices of a sample means for the whole. */
export function extrapolate(count: number, looked: number, total: number): number {
  return looked === 0 ? 0 : Math.min(total, Math.round((count / looked) * total));
}
