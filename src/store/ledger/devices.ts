// Random sample of the devices that were seen on some channels in the last weeks, for what a change would do
// to them.
//
// Devices are looked at in the order of a hash of their ids, so that the sample is one of devices: pages of
// the table hold devices that came at the same time, run the same versions and have the same platforms. The
// order is part of an index. The hashes are cut into ranges of about equally many devices, one statement for
// each: no statement takes long, and its rows are few enough to be read in one go.

import { isDeviceClient } from '../../contract/device-client.ts';
import { storableText } from '../../contract/text.ts';
import type { DeviceSample, SampledDevice, SampleScope } from '../fleet-ledger.ts';
import { jsonObject } from './columns.ts';
import type { Sql } from './database.ts';
import { parseLabels } from './labels-text.ts';

/** Number of devices that are seen enough for a sample. */
const SAMPLE_DEVICES = 20_000;
/** Maximum number of devices that are looked at: most may not have been seen for long. */
const LOOKED_AT_MAX = 100_000;
/** Number of devices that one statement should look at. */
const STATEMENT_DEVICES = 2000;
const DAYS_SEEN = 30;
const HASH_MIN = -(2 ** 31);
const HASHES = 2 ** 32;

/** Device as the statement writes it; a text is empty where nothing is known. */
type Item = Pick<SampledDevice, 'deviceId' | 'channel' | 'platform'> & {
  readonly version: string;
  readonly arch: string;
  readonly client: string;
  readonly bundle: string;
  readonly labels: string;
};

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

/** One text for all devices crosses to the embedded database's client quickest. */
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
 * Returns all devices of the channels that were seen, or the first of them in the random order, with an
 * estimate of how many there are. The same devices come first each time, so that figures do not flicker.
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

/** Returns the lowest hash of a range; for the range after the last one, the number after the highest. */
function lowestHash(range: number, ranges: number): number {
  return HASH_MIN + Math.floor((range * HASHES) / ranges);
}

/** Counts the devices of the channels, and returns where the index has them. */
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
