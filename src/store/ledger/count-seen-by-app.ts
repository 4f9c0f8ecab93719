// Counts the devices of each of several apps that were seen since a time.

import type { Sql } from './database.ts';
import {
  extrapolate,
  SAMPLE_DEVICES,
  SAMPLE_PAGES_MAX,
  sampledTable,
  TABLE_PAGES,
} from './fleet-sample.ts';

export type AppTotal = { readonly id: string; readonly total: number };
type Row = { readonly appId: string; readonly looked: number; readonly seen: number };

/**
 * Returns the number of devices by app id. However many apps there are, one statement counts the smallest
 * fleets, as long as they have at most `SAMPLE_DEVICES` devices together, and one sample of the table of
 * devices serves to estimate the other fleets.
 */
export async function countSeenByApp(
  sql: Sql,
  apps: readonly AppTotal[],
  since: string,
): Promise<ReadonlyMap<string, number>> {
  const small = new Set<string>();
  let budget = SAMPLE_DEVICES;
  for (const { id, total } of [...apps].sort((left, right) => left.total - right.total)) {
    budget -= total;
    if (budget >= 0) small.add(id);
  }
  const large = apps.filter(({ id }) => !small.has(id));
  const counted = await count(sql, 'devices', [...small], since);
  const sampled = large.length === 0 ? new Map<string, Row>() : await sample(sql, large, since);
  return new Map(
    apps.map(({ id, total }) => {
      const row = sampled.get(id);
      const estimate = row === undefined ? 0 : extrapolate(row.seen, row.looked, total);
      return [id, counted.get(id)?.seen ?? estimate];
    }),
  );
}

async function sample(
  sql: Sql,
  apps: readonly AppTotal[],
  since: string,
): Promise<ReadonlyMap<string, Row>> {
  const [size] = await sql.query<{ pages: number }>(`SELECT (${TABLE_PAGES})::float8 AS pages`);
  const table = sampledTable(SAMPLE_PAGES_MAX / Math.max(1, size?.pages ?? 1));
  const ids = apps.map(({ id }) => id);
  return count(sql, table, ids, since);
}

async function count(
  sql: Sql,
  table: string,
  appIds: readonly string[],
  since: string,
): Promise<ReadonlyMap<string, Row>> {
  if (appIds.length === 0) return new Map();
  const rows = await sql.query<Row>(
    `SELECT app_id AS "appId", count(*)::int AS looked,
       count(*) FILTER (WHERE last_seen >= $2::timestamptz)::int AS seen
     FROM ${table} WHERE app_id = ANY ($1::text[]) GROUP BY app_id`,
    [appIds, since],
  );
  return new Map(rows.map((row) => [row.appId, row]));
}
