// Statements that read the number of an app's devices per version over time, in steps for a chart. They add
// up the shares of the parts themselves, once, where they add up channels and platforms.

import type { AdoptionStepPoint } from '../../contract/console-fleet.ts';
import { isoTime } from '../../contract/iso-time.ts';
import type { AdoptionStep } from '../../contract/resource.ts';
import { storableText } from '../../contract/text.ts';
import { columns, isoText } from './columns.ts';
import type { Sql } from './database.ts';

type Filter = {
  readonly since: string;
  readonly step: AdoptionStep;
  readonly channel: string | undefined;
};

/** Maximum number of versions with a series of their own; all others are added up as one. */
const VERSIONS_SHOWN_MAX = 20;
/** Maximum number of cells of hours that are read. A fleet with thousands of versions has as many in few. */
const CELLS_MAX = 60_000;
/** Maximum number of cells of days or months that are read: those of 33 days of 6,000 each. */
const STEP_CELLS_MAX = 200_000;
const HOUR_MS = 3_600_000;

const POINT_COLUMNS = columns<AdoptionStepPoint>({
  at: isoText('read.at'),
  version: 'shown.version',
  devices: 'sum(read.devices)::float8',
  isMinimum: 'bool_or(bool_or(read.is_minimum)) OVER (PARTITION BY read.at)',
});

const HOURS = pointsOf(`
  SELECT hour AS at, version, devices, FALSE AS is_minimum FROM fleet_hour_parts
  WHERE app_id = $1 AND hour >= $2::timestamptz
    AND ($3::text IS NULL OR channel = $3)
    AND ($4::timestamptz[] IS NULL OR hour = ANY ($4))`);

/**
 * Statement of the points of days or months. The step in which `since` falls is read as a whole, because
 * no part of it is known. Where there are too many cells, the oldest steps are left out, so that each of the
 * others is complete.
 */
const STEPS = pointsOf(`
  SELECT at, version, devices, is_minimum FROM fleet_step_parts
  WHERE app_id = $1 AND step = $4 AND at >= date_trunc($4, $2::timestamptz, 'UTC')
    AND ($3::text IS NULL OR channel = $3)
    AND at > coalesce((
      SELECT at FROM fleet_step_parts
      WHERE app_id = $1 AND step = $4 AND at >= date_trunc($4, $2::timestamptz, 'UTC')
      ORDER BY at DESC OFFSET ${STEP_CELLS_MAX} LIMIT 1
    ), '-infinity')`);

/**
 * Statement that finds the first and last hour of the part of the series that may be read, and the last hour
 * of all.
 */
const REACH = `
  SELECT count(*)::int AS cells,
    (extract(epoch FROM min(hour)) * 1000)::float8 AS first,
    (extract(epoch FROM max(hour)) * 1000)::float8 AS reached,
    (
      SELECT (extract(epoch FROM max(hour)) * 1000)::float8 FROM fleet_hour_parts WHERE app_id = $1
    ) AS last
  FROM (
    SELECT hour FROM fleet_hour_parts WHERE app_id = $1 AND hour >= $2::timestamptz
    ORDER BY hour LIMIT ${CELLS_MAX}
  ) AS part`;

/**
 * Returns the hours that begin at `since` or later, or the days or months from the one of `since` on. Where
 * hours have too many cells, only those at equal distances are read.
 */
export async function readAdoptionSteps(
  sql: Sql,
  appId: string,
  { since, step, channel }: Filter,
): Promise<readonly AdoptionStepPoint[]> {
  const only = channel === undefined ? null : storableText(channel);
  if (step !== 'hour') return sql.query<AdoptionStepPoint>(STEPS, [appId, since, only, step]);
  const hours = await chooseHours(sql, appId, since);
  return sql.query<AdoptionStepPoint>(HOURS, [appId, since, only, hours]);
}

/** Returns the statement of the points that the rows of a query add up to. */
function pointsOf(rows: string): string {
  return `
    WITH read AS MATERIALIZED (
      SELECT at, version, sum(devices) AS devices, bool_or(is_minimum) AS is_minimum
      FROM (${rows}) AS cell GROUP BY at, version HAVING sum(devices) > 0
    ), shown AS MATERIALIZED (
      SELECT version FROM read GROUP BY version
      ORDER BY sum(devices) DESC, version LIMIT ${VERSIONS_SHOWN_MAX}
    )
    SELECT ${POINT_COLUMNS}
    FROM read LEFT JOIN shown USING (version)
    GROUP BY read.at, shown.version ORDER BY read.at, shown.version`;
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
