// Statement that reads a page of the devices that show a signal of a release.

import type { DevicePage } from '../../contract/console-fleet.ts';
import { isFailure, type Outcome, type UnknownRelease } from '../../contract/failure.ts';
import type { Signal } from '../../contract/rollout-plan.ts';
import { storableText } from '../../contract/text.ts';
import type { SignalDeviceFilter } from '../plan-ledger.ts';
import type { Reach } from '../reach.ts';
import type { ReleaseName } from '../release-name.ts';
import type { Sql } from './database.ts';
import { deviceConditions, OTHER_CONDITIONS, VERSION_CONDITIONS } from './device-conditions.ts';
import { DEVICE_COLUMNS, type DeviceRow, deviceOf } from './device-row.ts';
import { findReleaseByName } from './planned-release.ts';
import { countSignals } from './read-signals.ts';
import { HASH_MAX, HASH_MIN, HASHES, SIGNAL_CONDITIONS, signalTimes } from './signal-conditions.ts';
import { readSignalTaking } from './signal-taking.ts';

/** Number of devices that one statement should look at. */
const RANGE_DEVICES = 2000;
/** Number of statements of a page: it looks at about 20,000 devices at most. */
const RANGES_MAX = 10;

/** Place in the order of the list: after all devices with lower hashes, and of its hash with lower ids. */
type Place = { readonly hash: number; readonly deviceId: string };

const BEGINNING: Place = { hash: HASH_MIN, deviceId: '' };

const CONDITIONS: Readonly<Record<Signal, string>> = {
  failed: `EXISTS (
    SELECT FROM release_failures AS failure WHERE failure.release_id = reached.release_id
      AND failure.device_id = reached.device_id AND failure.is_offered
  )`,
  reverted: SIGNAL_CONDITIONS.reverted,
  stuck: SIGNAL_CONDITIONS.stuck,
  silent: SIGNAL_CONDITIONS.silent,
};

/**
 * Statement of the devices in a range of hashes. As in signal-conditions.ts, the index has those of each edge
 * in this order, so that no more are read than lie in the range, and OFFSET 0 keeps the order in which tables
 * are looked up.
 */
const range = (signal: Signal) => `
  WITH page AS (
    SELECT reached.app_id, reached.device_id, hashtext(reached.device_id) AS hash
    FROM unnest(signal_edges()) AS edge
    CROSS JOIN LATERAL (
      SELECT * FROM release_devices WHERE release_id = $11 AND known = edge
        AND hashtext(device_id) BETWEEN $14::integer AND $16::integer OFFSET 0
    ) AS reached
    CROSS JOIN LATERAL (
      SELECT * FROM devices WHERE app_id = $1 AND device_id = reached.device_id OFFSET 0
    ) AS looked_at
    CROSS JOIN ${signalTimes('$17', '$18')}
    WHERE edge >= $12 AND (NOT $13 OR reached.pushed >= $12)
      AND (hashtext(reached.device_id), reached.device_id) > ($14::integer, $15::text COLLATE "C")
      AND ${CONDITIONS[signal]} AND ${VERSION_CONDITIONS} AND ${OTHER_CONDITIONS}
    ORDER BY hash, reached.device_id LIMIT $19
  )
  SELECT ${DEVICE_COLUMNS}, page.hash
  FROM page
  CROSS JOIN LATERAL (
    SELECT * FROM devices
    WHERE devices.app_id = page.app_id AND devices.device_id = page.device_id OFFSET 0
  ) AS devices
  LEFT JOIN releases ON releases.id = devices.last_offered_release_id
  ORDER BY page.hash, page.device_id`;

const RANGES: Readonly<Record<Signal, string>> = {
  failed: range('failed'),
  reverted: range('reverted'),
  stuck: range('stuck'),
  silent: range('silent'),
};

/**
 * Returns devices that show a signal of a release, as its health counts them: known for so long before it, on
 * its channel or another. They come in the order of a hash of their ids, range by range until the page is
 * full or enough were looked at, however many the release reached. Of a client address, the health may count
 * fewer failures than are listed.
 */
export async function listSignalDevices(
  sql: Sql,
  reach: Reach,
  name: ReleaseName,
  signal: Signal,
  filter: SignalDeviceFilter,
): Promise<Outcome<DevicePage, UnknownRelease>> {
  const found = await findReleaseByName(sql, reach, name);
  if (isFailure(found)) return found;
  const { app, release } = found;
  const { known, isPushed, ...after } = await readSignalTaking(sql, release.id);
  const { reached } = await countSignals(sql, release.id, known, isPushed);
  const width = Math.floor(HASHES / Math.max(reached / RANGE_DEVICES, 1));
  const conditions = await deviceConditions(sql, app.id, filter);
  const readRange = (from: Place, to: number, rowsMax: number) =>
    sql.query<DeviceRow & { readonly hash: number }>(RANGES[signal], [
      ...[...conditions, release.id, known, isPushed, from.hash, storableText(from.deviceId), to],
      ...[after.stuckAfterMinutes, after.silentAfterMinutes, rowsMax],
    ]);
  return readPage(readRange, placeOf(filter.after), width, filter.limit);
}

/** Reads range after range, one device more than asked for, to know whether there is a next page. */
async function readPage(
  readRange: (
    from: Place,
    to: number,
    rowsMax: number,
  ) => Promise<readonly (DeviceRow & { readonly hash: number })[]>,
  after: Place,
  width: number,
  limit: number,
): Promise<DevicePage> {
  const rows: (DeviceRow & { readonly hash: number })[] = [];
  let place: Place | undefined = after;
  for (let ranges = 0; ranges < RANGES_MAX && place !== undefined; ranges++) {
    const to: number = Math.min(place.hash + width, HASH_MAX);
    rows.push(...(await readRange(place, to, limit + 1 - rows.length)));
    if (rows.length > limit) break;
    place = to === HASH_MAX ? undefined : { hash: to + 1, deviceId: '' };
  }
  const shown = rows.slice(0, limit);
  const next = rows.length > limit ? shown.at(-1) : place;
  return {
    devices: shown.map(deviceOf),
    next: next === undefined ? null : `${next.hash}:${next.deviceId}`,
  };
}

/** Reads what `next` of a page says; the beginning where it cannot be read. */
function placeOf(after = ''): Place {
  const [, hash, deviceId] = /^(-?\d{1,10}):(.*)$/s.exec(after) ?? [];
  if (hash === undefined || deviceId === undefined) return BEGINNING;
  return { hash: Math.min(Math.max(Number(hash), HASH_MIN), HASH_MAX), deviceId };
}
