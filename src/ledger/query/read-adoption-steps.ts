// How many devices an app had on which version, over time, in steps for a chart.

import type { AdoptionStep } from '../../contract/resource.ts';
import type { AdoptionStepPoint } from '../../ports/console-ledger.ts';
import type { Sql } from '../database.ts';
import { isoText } from './iso-text.ts';
import { storableText } from './storable-text.ts';

type Filter = {
  readonly since: string;
  readonly step: AdoptionStep;
  readonly channel: string | undefined;
};

const VERSIONS_SHOWN_MAX = 20;
/** How much of the series is read: a fleet with thousands of versions has that in some hours. */
const CELLS_MAX = 60_000;
const HOUR_MS = 3_600_000;

/**
 * Hours cannot be added up: a device counts in each of its hours. The mean over a step's hours keeps the
 * shares of the versions right, and their sum is that of an hour.
 */
const POINTS = `
  WITH hourly AS MATERIALIZED (
    SELECT hour, version, sum(devices) AS devices FROM fleet_hours
    WHERE app_id = $1 AND hour >= $2::timestamptz AND devices > 0
      AND ($4::text IS NULL OR channel = $4)
      AND ($5::timestamptz[] IS NULL OR hour = ANY ($5))
    GROUP BY hour, version
  ), shown AS MATERIALIZED (
    SELECT version FROM hourly GROUP BY version
    ORDER BY sum(devices) DESC, version LIMIT ${VERSIONS_SHOWN_MAX}
  ), stepped AS (
    SELECT date_trunc($3::text, hour, 'UTC') AS step, shown.version, sum(devices) AS devices
    FROM hourly LEFT JOIN shown USING (version) GROUP BY 1, 2
  ), hours AS (
    SELECT date_trunc($3::text, hour, 'UTC') AS step, count(DISTINCT hour) AS hours
    FROM hourly GROUP BY 1
  )
  SELECT ${isoText('stepped.step')} AS at, stepped.version,
    ceil(stepped.devices / hours.hours)::float8 AS devices
  FROM stepped JOIN hours USING (step) ORDER BY stepped.step, stepped.version`;

/** How far the part of the series that may be read goes, and how far all of it. */
const REACH = `
  SELECT count(*)::int AS cells,
    (extract(epoch FROM min(hour)) * 1000)::float8 AS first,
    (extract(epoch FROM max(hour)) * 1000)::float8 AS reached,
    (
      SELECT (extract(epoch FROM max(hour)) * 1000)::float8 FROM fleet_hours WHERE app_id = $1
    ) AS last
  FROM (
    SELECT hour FROM fleet_hours WHERE app_id = $1 AND hour >= $2::timestamptz
    ORDER BY hour LIMIT ${CELLS_MAX}
  ) AS part`;

/** The hours that begin at `since` or later; where these are too many cells, hours at equal distances. */
export async function readAdoptionSteps(
  sql: Sql,
  appId: string,
  { since, step, channel }: Filter,
): Promise<readonly AdoptionStepPoint[]> {
  const hours = await chooseHours(sql, appId, since);
  const only = channel === undefined ? null : storableText(channel);
  return sql.query<AdoptionStepPoint>(POINTS, [appId, since, step, only, hours]);
}

/** Null for all. The last one that is over is among those chosen. */
async function chooseHours(
  sql: Sql,
  appId: string,
  since: string,
): Promise<readonly string[] | null> {
  const [reach] = await sql.query<{
    cells: number;
    first: number;
    reached: number;
    last: number;
  }>(REACH, [appId, since]);
  if (reach === undefined || reach.cells < CELLS_MAX) return null;
  const { first, reached, last } = reach;
  const distance = Math.ceil((last - first + HOUR_MS) / (reached - first + HOUR_MS)) * HOUR_MS;
  const hours: string[] = [];
  for (let hour = last - HOUR_MS; hour >= first; hour -= distance) {
    hours.push(new Date(hour).toISOString());
  }
  return hours;
}
