// Statement that counts the labels of an app's devices, for the console.

import type { LabelCounts } from '../../contract/console.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { Sql } from './database.ts';
import { extrapolate, fleetSample } from './fleet-sample.ts';

type Row = {
  readonly looked: number;
  readonly key: string | null;
  readonly value: string;
  readonly devices: number;
};

/**
 * Counts devices per label key and value. Keys, and the values of each key, are ordered by number of devices;
 * the number of keys and of values per key is bounded. Counts of a large fleet are estimated from a sample.
 */
export async function countLabels(sql: Sql, appId: string): Promise<LabelCounts> {
  const sample = await fleetSample(sql, appId);
  const rows = await sql.query<Row>(
    `WITH looked AS MATERIALIZED (SELECT labels FROM ${sample.from}), counted AS (
       SELECT label.key, label.value, count(*) AS devices
       FROM looked, jsonb_each_text(looked.labels) AS label
       GROUP BY label.key, label.value
     ), ranked AS (
       SELECT key, value, devices, sum(devices) OVER (PARTITION BY key) AS of_key,
         row_number() OVER (PARTITION BY key ORDER BY devices DESC, value COLLATE "C") AS place
       FROM counted
     ), chosen AS (
       SELECT ranked.*, dense_rank() OVER (ORDER BY of_key DESC, key COLLATE "C") AS key_place
       FROM ranked WHERE place <= $2
     )
     SELECT (SELECT count(*)::int FROM looked) AS looked, key, value, devices::int AS devices
     FROM chosen WHERE key_place <= $3 ORDER BY key_place, place`,
    [appId, LIMIT.labelValuesShownMax, LIMIT.labelKeysShownMax],
  );
  const keys = new Map<string, { value: string; devices: number }[]>();
  for (const { looked, key, value, devices } of rows) {
    if (key === null) continue;
    const values = keys.get(key) ?? [];
    const known = sample.isWhole ? devices : extrapolate(devices, looked, sample.total);
    keys.set(key, [...values, { value, devices: known }]);
  }
  return {
    keys: [...keys].map(([key, values]) => ({ key, values })),
    sampled: !sample.isWhole,
  };
}
