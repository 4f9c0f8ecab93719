// SQL that samples devices: those of channels for dry runs, and those of an app for counts without an index.

import { isDeviceClient } from '../../../contract/resource.ts';
import { storableText } from '../../../contract/text.ts';
import type { DeviceSample, SampledDevice, SampleScope } from '../../fleet-ledger.ts';
import { jsonObject } from '../database/columns.ts';
import type { Sql } from '../database/database.ts';
import { parseLabels } from './labels.ts';

/** Number of devices that make a sample; a fleet of at most as many is counted one by one. */
export const SAMPLE_DEVICES = 20_000;
/** Maximum number of rows to read for a sample, because most of them may be devices not seen for long. */
const LOOKED_AT_MAX = 100_000;
/** Target number of devices per statement. */
const STATEMENT_DEVICES = 2000;
const DAYS_SEEN = 30;
const HASH_MIN = -(2 ** 31);
const HASHES = 2 ** 32;

/** Device as the statement returns it; unknown values are empty texts. */
type Item = Pick<SampledDevice, 'deviceId' | 'channel' | 'platform'> &
  Record<'version' | 'arch' | 'client' | 'bundle' | 'labels', string>;

const ITEM = jsonObject<Item>({
  deviceId: 'device_id',
  channel: 'channel',
  platform: 'platform',
  version: 'version',
  arch: 'arch',
  client: 'client',
  bundle: 'bundle',
  labels: `CASE WHEN cardinality($5::text[]) = 0 OR labels = '{}' THEN '{}' ELSE (
    SELECT coalesce(jsonb_object_agg(key, value), '{}')::text
    FROM jsonb_each(labels) WHERE key = ANY ($5::text[])
  ) END`,
});

/** One text for all devices, which the embedded database transfers fastest. */
const RANGE = `
  SELECT count(*)::integer AS looked,
    coalesce(json_agg(${ITEM}) FILTER (
      WHERE last_seen >= now() - interval '${DAYS_SEEN} days'
    ), '[]')::text AS seen
  FROM devices
  WHERE device_place(app_id, channel) = ANY ($6::integer[])
    AND app_id = $1 AND channel = ANY ($2::text[])
    AND hashtext(device_id) BETWEEN $3::integer AND $4::integer`;

/**
 * Samples the devices seen on these channels in the last 30 days: all of up to 20,000, else about 20,000 at
 * random, each device as likely as any other, with an estimate of their total. The same devices come first
 * each time, so that results do not flicker. Returns fewer if most devices of the channels were seen longer
 * ago.
 */
export async function sampleDevices(
  sql: Sql,
  { appId, channels, labelKeys }: SampleScope,
): Promise<DeviceSample> {
  const names = channels.map(storableText);
  const { total, places } = await countOn(sql, appId, names);
  const ranges = Math.max(1, Math.ceil(total / STATEMENT_DEVICES));
  const devices: SampledDevice[] = [];
  let looked = 0;
  for (let range = 0; range < ranges; range++) {
    if (devices.length >= SAMPLE_DEVICES || looked >= LOOKED_AT_MAX) {
      const seen = looked === 0 ? 0 : Math.round((total * devices.length) / looked);
      return { devices, total: seen, isWhole: false };
    }
    const [row] = await sql.query<{ looked: number; seen: string }>(RANGE, [
      appId,
      names,
      lowestHash(range, ranges),
      lowestHash(range + 1, ranges) - 1,
      labelKeys,
      places,
    ]);
    looked += row?.looked ?? 0;
    for (const item of JSON.parse(row?.seen ?? '[]') as Item[]) devices.push(deviceOf(item));
  }
  return { devices, total: devices.length, isWhole: true };
}

/** Returns the lowest hash of a range; after the last range, the number above the highest hash. */
function lowestHash(range: number, ranges: number): number {
  return HASH_MIN + Math.floor((range * HASHES) / ranges);
}

/** Counts the devices of the channels, and returns the channels' hashes in the index. */
async function countOn(sql: Sql, appId: string, channels: readonly string[]) {
  const [row] = await sql.query<{ total: number; places: readonly number[] }>(
    `SELECT (
       SELECT coalesce(sum(devices), 0)::float8 FROM fleet_counts
       WHERE app_id = $1 AND channel = ANY ($2::text[])
     ) AS total,
     (SELECT json_agg(device_place($1, name)) FROM unnest($2::text[]) AS name) AS places`,
    [appId, channels],
  );
  if (row === undefined) throw new Error('A count has no row');
  return row;
}

function deviceOf({ version, arch, client, bundle, labels, ...device }: Item): SampledDevice {
  return {
    ...device,
    version: version === '' ? null : version,
    arch: arch === '' ? null : arch,
    client: isDeviceClient(client) ? client : null,
    bundle: bundle === '' ? null : bundle,
    labels: parseLabels(labels),
  };
}

/** Minimum number of devices that a sample by table pages is expected to have. */
const SAMPLE_DEVICES_MIN = 2000;

/**
 * Returns a sample of an app's devices, for counts on columns without an index, which would slow every
 * check-in: `from` is a table expression named `devices`, for statements whose $1 is the app's id; `total` is
 * the number of the app's devices. A small fleet is its own sample (`isWhole`). A large one is sampled by
 * table pages, the same each time; if these would have too few of the app's devices, its first devices by id
 * are the sample.
 */
export async function fleetSample(sql: Sql, appId: string) {
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

/** Maximum number of table pages in a sample; they also hold devices of other apps. */
export const SAMPLE_PAGES_MAX = 2500;

/** SQL expression for the number of pages of the `devices` table. */
export const TABLE_PAGES = 'device_pages()';

/** Returns the table expression of a fraction (0 to 1) of the devices; always the same pages. */
export function sampledTable(share: number): string {
  const percent = Math.min(100, Math.max(0.0001, share * 100)).toFixed(4);
  return `devices TABLESAMPLE SYSTEM (${percent}) REPEATABLE (1)`;
}

/** Estimates a count in `total` devices from the count in the `looked` devices of a sample. */
export function extrapolate(count: number, looked: number, total: number): number {
  return looked === 0 ? 0 : Math.min(total, Math.round((count / looked) * total));
}
