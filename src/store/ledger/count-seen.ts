// Counts the devices of an app that were seen since each of several times.

import { storableText } from '../../contract/text.ts';
import type { SeenCounts } from '../console-ledger.ts';
import type { Sql } from './database.ts';
import { extrapolate, fleetSample } from './fleet-sample.ts';

type Row = { readonly looked: number; readonly seen: readonly number[] };

/**
 * Counts a small fleet exactly, and estimates a large one from a sample. `last_seen` lags by up to the
 * freshness of devices: `record_check_ins` does not rewrite a row for less.
 */
export async function countSeen(
  sql: Sql,
  appId: string,
  channel: string | undefined,
  since: readonly string[],
): Promise<SeenCounts> {
  const sample = await fleetSample(sql, appId);
  const counts = since.map(
    (_, index) => `count(*) FILTER (WHERE last_seen >= $${index + 3}::timestamptz)::int`,
  );
  const [row] = await sql.query<Row>(
    `SELECT count(*)::int AS looked, ARRAY[${counts.join(', ')}]::int[] AS seen
     FROM ${sample.from} WHERE $2::text IS NULL OR channel = $2`,
    [appId, channel === undefined ? null : storableText(channel), ...since],
  );
  const total = channel === undefined ? sample.total : await countOn(sql, appId, channel);
  const { looked = 0, seen = [] } = row ?? {};
  return {
    total,
    seen: seen.map((count) => (sample.isWhole ? count : extrapolate(count, looked, total))),
    isEstimate: !sample.isWhole,
  };
}

async function countOn(sql: Sql, appId: string, channel: string): Promise<number> {
  const [row] = await sql.query<{ total: number }>(
    `SELECT coalesce(sum(devices), 0)::float8 AS total FROM fleet_counts
     WHERE app_id = $1 AND channel = $2`,
    [appId, storableText(channel)],
  );
  return row?.total ?? 0;
}
