// SQL of the fleet's counts: devices per version now and over time, and the sweep that ages them. Counts are
// sums over parts, never a scan of all devices.

import type {
  AdoptionPoint,
  AdoptionStepPoint,
  FleetCell,
} from '../../../contract/console-fleet.ts';
import { isFailure, type Outcome } from '../../../contract/failure.ts';
import type { AdoptionStep } from '../../../contract/resource.ts';
import { isoTime, storableText } from '../../../contract/text.ts';
import type { SeenCounts } from '../../console-ledger.ts';
import { findApp } from '../change/channels.ts';
import { columns, isoText, textOrNull } from '../database/columns.ts';
import type { Sql } from '../database/database.ts';
import {
  extrapolate,
  fleetSample,
  SAMPLE_DEVICES,
  SAMPLE_PAGES_MAX,
  sampledTable,
  TABLE_PAGES,
} from './device-samples.ts';

type Filter = {
  readonly since: string;
  readonly step: AdoptionStep;
  readonly channel: string | undefined;
};

/** Maximum number of versions with their own series; the others are summed. */
const VERSIONS_SHOWN_MAX = 20;
/** Maximum number of hour cells to read; with thousands of versions, a few hours have as many. */
const CELLS_MAX = 60_000;
/** Maximum number of day or month cells to read: 33 days with 6,000 each. */
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
 * Points of days or months. Reads the whole step that contains `since`. If there are too many cells, leaves
 * out the oldest steps, so that every other step is complete.
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

/** Finds the first and last hour that may be read within the limit of cells, and the last hour of all. */
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
 * Reads the adoption series of one channel or of all, oldest first: the hours that begin at `since` or later,
 * or the days or months from that of `since` on. For a fleet with thousands of versions it has hours at equal
 * distances, or only the newest days or months.
 */
export async function readAdoptionSteps(
  sql: Sql,
  appId: string,
  { since, step, channel }: Filter,
): Promise<readonly AdoptionStepPoint[]> {
  const only = textOrNull(channel);
  if (step !== 'hour') return sql.query<AdoptionStepPoint>(STEPS, [appId, since, only, step]);
  const hours = await chooseHours(sql, appId, since);
  return sql.query<AdoptionStepPoint>(HOURS, [appId, since, only, hours]);
}

/** Returns the statement that sums the rows of a query into points. */
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

/** Returns the hours to read, null for all; always includes the last completed hour. */
async function chooseHours(
  sql: Sql,
  appId: string,
  since: string,
): Promise<readonly string[] | null> {
  const [scope] = await sql.query<{
    cells: number;
    first: number;
    reached: number;
    last: number;
  }>(REACH, [appId, since]);
  if (scope === undefined || scope.cells < CELLS_MAX) return null;
  const { first, reached, last } = scope;
  const distance = Math.ceil((last - first + HOUR_MS) / (reached - first + HOUR_MS)) * HOUR_MS;
  const hours: string[] = [];
  for (let hour = last - HOUR_MS; hour >= first; hour -= distance) {
    hours.push(isoTime(hour));
  }
  return hours;
}

const CELL_COLUMNS = columns<FleetCell>({
  channel: 'channel',
  version: 'version',
  platform: 'platform',
  devices: 'devices::integer',
});

/**
 * Reads the present number of the app's devices per channel, version and platform. An empty version is an
 * unknown one.
 */
export async function readFleet(sql: Sql, appName: string): Promise<Outcome<readonly FleetCell[]>> {
  const app = await findApp(sql, undefined, appName);
  if (isFailure(app)) return app;
  return sql.query<FleetCell>(
    `SELECT ${CELL_COLUMNS} FROM fleet_counts
     WHERE app_id = $1 AND devices > 0 ORDER BY channel, version, platform`,
    [app.id],
  );
}

type Row = { readonly looked: number; readonly seen: readonly number[] };

/**
 * Counts the devices of an app, or of one of its channels, seen since each of these times (RFC 3339): exactly
 * in a small fleet, from a sample in a large one. `last_seen` lags by up to the freshness of devices
 * (`record_check_ins`).
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
    [appId, textOrNull(channel), ...since],
  );
  const total = channel === undefined ? sample.total : await countOn(sql, appId, channel);
  const { looked = 0, seen = [] } = row ?? {};
  return {
    total,
    seen: seen.map((count) => (sample.isWhole ? count : extrapolate(count, looked, total))),
    isEstimate: !sample.isWhole,
  };
}

/** Counts the devices of a channel. */
export async function countOn(sql: Sql, appId: string, channel: string): Promise<number> {
  const [row] = await sql.query<{ total: number }>(
    `SELECT coalesce(sum(devices), 0)::float8 AS total FROM fleet_counts
     WHERE app_id = $1 AND channel = $2`,
    [appId, storableText(channel)],
  );
  return row?.total ?? 0;
}

export type AppTotal = { readonly id: string; readonly total: number };
type CountSeenByAppRow = { readonly appId: string; readonly looked: number; readonly seen: number };

/**
 * Returns the number of seen devices by app id, with two statements for any number of apps: one counts the
 * smallest fleets, up to `SAMPLE_DEVICES` devices together, and one sample estimates the others.
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
  const sampled =
    large.length === 0 ? new Map<string, CountSeenByAppRow>() : await sample(sql, large, since);
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
): Promise<ReadonlyMap<string, CountSeenByAppRow>> {
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
): Promise<ReadonlyMap<string, CountSeenByAppRow>> {
  if (appIds.length === 0) return new Map();
  const rows = await sql.query<CountSeenByAppRow>(
    `SELECT app_id AS "appId", count(*)::int AS looked,
       count(*) FILTER (WHERE last_seen >= $2::timestamptz)::int AS seen
     FROM ${table} WHERE app_id = ANY ($1::text[]) GROUP BY app_id`,
    [appIds, since],
  );
  return new Map(rows.map((row) => [row.appId, row]));
}

const READ_ADOPTION_POINT_COLUMNS = columns<AdoptionPoint>({
  hour: isoText('point.hour'),
  channel: 'channel',
  version: 'version',
  platform: 'platform',
  devices: 'devices::integer',
});

/** Reads the hourly series from `since` (RFC 3339) on, oldest first. An empty version is an unknown one. */
export async function readAdoption(
  sql: Sql,
  appName: string,
  since: string,
): Promise<Outcome<readonly AdoptionPoint[]>> {
  const app = await findApp(sql, undefined, appName);
  if (isFailure(app)) return app;
  return sql.query<AdoptionPoint>(
    `SELECT ${READ_ADOPTION_POINT_COLUMNS} FROM fleet_hours AS point
     WHERE app_id = $1 AND point.hour >= $2::timestamptz AND devices > 0
     ORDER BY point.hour, channel, version, platform`,
    [app.id, since],
  );
}

/**
 * Deletes devices not seen since `devicesBefore`, with their versions and their part in the counts, and
 * adoption hours before `hoursBefore` (RFC 3339), at most `rowsMax` of each; returns how many of each. One
 * database function does this, which is one transaction. In a large table each call searches a random part. A
 * second function deletes the signals of releases that are no longer watched.
 */
export async function sweepFleet(
  sql: Sql,
  devicesBefore: string,
  hoursBefore: string,
  rowsMax: number,
): Promise<{ readonly devices: number; readonly hours: number }> {
  const rows = await sql.query<{ devices: number; hours: number }>(
    `SELECT devices_gone AS devices, hours_gone AS hours
     FROM sweep_fleet($1::timestamptz, $2::timestamptz, $3::integer)`,
    [devicesBefore, hoursBefore, rowsMax],
  );
  await sql.query('SELECT sweep_signals($1::integer)', [rowsMax]);
  if (rows[0] === undefined) throw new Error('The sweep did not tell what it did');
  return rows[0];
}

/**
 * Deletes at most `rowsMax` version changes beyond the number that the ledger keeps per device. Examines ten
 * times as many, beginning where the previous call ended. Returns how many it deleted.
 */
export async function trimHistories(sql: Sql, history: number, rowsMax: number): Promise<number> {
  const rows = await sql.query<{ trimmed: number }>(
    'SELECT trim_device_versions($1::integer, $2::integer) AS trimmed',
    [history, rowsMax],
  );
  return rows[0]?.trimmed ?? 0;
}

const IN_REACH = `
  SELECT coalesce(sum(fleet_counts.devices), 0)::float8 AS devices FROM releases
  JOIN channels AS own ON own.id = releases.channel_id
  JOIN channels AS place ON place.id = own.id OR place.follows = own.id
  JOIN fleet_counts ON fleet_counts.app_id = place.app_id AND fleet_counts.channel = place.name
  WHERE releases.id = $1`;

/** Counts the devices of a release's channel and of its followers. */
export async function countInReach(sql: Sql, releaseId: string): Promise<number> {
  const [sum] = await sql.query<{ devices: number }>(IN_REACH, [releaseId]);
  return sum?.devices ?? 0;
}
