// Statements that read the number of an app's devices per version over time, in steps for a chart.

import type { AdoptionStepPoint } from '../../contract/console-fleet.ts';
import { isoTime } from '../../contract/iso-time.ts';
import type { AdoptionStep } from '../../contract/resource.ts';
import { storableText } from '../../contract/text.ts';
import type { Sql } from '../database.ts';
import { columns, isoText } from './column.ts';

type Filter = {
  readonly since: string;
  readonly step: AdoptionStep;
  readonly channel: string | undefined;
};

/** Maximum number of versions with a series of their own; all others are added up as one. */
const VERSIONS_SHOWN_MAX = 20;
/** Maximum number of cells that are read. A fleet with thousands of versions has as many in a few hours. */
const CELLS_MAX = 60_000;
const HOUR_MS = 3_600_000;

const POINT_COLUMNS = columns<AdoptionStepPoint>({
  at: isoText('stepped.step'),
  version: 'stepped.version',
  devices: 'ceil(stepped.devices / hours.hours)::float8',
});

/**
 * Statement of the points. It takes the mean over the hours of a step, because a device counts in each of its
 * hours and hours cannot be added up. The mean keeps the shares of the versions, and their sum is that of one
 * hour.
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
  SELECT ${POINT_COLUMNS}
  FROM stepped JOIN hours USING (step) ORDER BY stepped.step, stepped.version`;

/**
 * Statement that finds the first and last hour of the part of the series that may be read, and the last hour
 * of all.
 */
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

/**
 * Returns the hours that begin at `since` or later, combined into steps. Where they have too many cells, only
 * hours at equal distances are read.
 */
export async function readAdoptionSteps(
  sql: Sql,
  appId: string,
  { since, step, channel }: Filter,
): Promise<readonly AdoptionStepPoint[]> {
  const hours = await chooseHours(sql, appId, since);
  const only = channel === undefined ? null : storableText(channel);
  return sql.query<AdoptionStepPoint>(POINTS, [appId, since, step, only, hours]);
}

/**
 * Returns the hours to read, null for all of them. The last completed hour is always among the chosen ones.
 */
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
    hours.push(isoTime(hour));
  }
  return hours;
}
