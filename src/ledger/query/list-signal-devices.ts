// Statement that reads a page of the devices that show a signal of a release.

import type { DevicePage } from '../../contract/console-fleet.ts';
import { isFailure, type Outcome, type UnknownRelease } from '../../contract/failure.ts';
import type { PlanGuards, Signal } from '../../contract/rollout-plan.ts';
import { storableText } from '../../contract/text.ts';
import { USUAL_GUARDS } from '../../domain/rollout/judge-health.ts';
import type { SignalDeviceFilter } from '../../ports/plan-ledger.ts';
import type { Reach } from '../../ports/reach.ts';
import type { ReleaseName } from '../../ports/release-name.ts';
import type { Sql } from '../database.ts';
import {
  deviceConditions,
  LOOKED_AT_MAX,
  OTHER_CONDITIONS,
  VERSION_CONDITIONS,
} from './device-conditions.ts';
import { DEVICE_COLUMNS, type DeviceRow, deviceOf } from './device-row.ts';
import { findPlan } from './plan-row.ts';
import { findReleaseByName } from './planned-release.ts';
import { SIGNAL_CONDITIONS, signalTimes } from './signal-sql.ts';

type Place = { readonly known: number; readonly deviceId: string };

/** Place before all devices: no edge is so low. */
const BEGINNING: Place = { known: -2, deviceId: '' };

/**
 * Devices that a page searches: those that the release reached, in the order of the index that has them by
 * how long they were known, and by a hash, from the parameters of a release on.
 */
const lookedAt = (first: number) => {
  const [release, known, isPushed, afterKnown, afterId] = [0, 1, 2, 3, 4].map(
    (index) => `$${first + index}`,
  );
  return `FROM release_devices
    WHERE release_id = ${release} AND known >= ${known}::integer
      AND (NOT ${isPushed}::boolean OR pushed >= ${known}::integer)
      AND (known, hashtext(device_id)) >= (${afterKnown}::integer, hashtext(${afterId}::text))
      AND (known, hashtext(device_id), device_id)
        > (${afterKnown}::integer, hashtext(${afterId}::text), ${afterId}::text COLLATE "C")
    ORDER BY known, hashtext(device_id), device_id`;
};

const CONDITIONS: Readonly<Record<Signal, string>> = {
  failed: `EXISTS (
    SELECT FROM release_failures AS failure WHERE failure.release_id = reached.release_id
      AND failure.device_id = reached.device_id AND failure.is_offered
  )`,
  reverted: SIGNAL_CONDITIONS.reverted,
  stuck: SIGNAL_CONDITIONS.stuck,
  silent: SIGNAL_CONDITIONS.silent,
};

/** Statement of a page; OFFSET 0 keeps the order in which tables are looked up. */
const page = (signal: Signal) => `
  WITH page AS (
    SELECT reached.app_id, reached.device_id, reached.known
    FROM (SELECT * ${lookedAt(11)} LIMIT ${LOOKED_AT_MAX}) AS reached
    CROSS JOIN LATERAL (
      SELECT * FROM devices
      WHERE app_id = $1 AND device_id = reached.device_id OFFSET 0
    ) AS looked_at
    CROSS JOIN ${signalTimes('$16', '$17')}
    WHERE ${CONDITIONS[signal]} AND ${VERSION_CONDITIONS} AND ${OTHER_CONDITIONS}
    ORDER BY reached.known, hashtext(reached.device_id), reached.device_id LIMIT $18
  )
  SELECT ${DEVICE_COLUMNS}, page.known
  FROM page
  JOIN devices USING (app_id, device_id)
  LEFT JOIN releases ON releases.id = devices.last_offered_release_id
  ORDER BY page.known, hashtext(devices.device_id), devices.device_id`;

const PAGES: Readonly<Record<Signal, string>> = {
  failed: page('failed'),
  reverted: page('reverted'),
  stuck: page('stuck'),
  silent: page('silent'),
};

const LAST_LOOKED_AT = `
  SELECT known, device_id AS "deviceId" ${lookedAt(1)} OFFSET ${LOOKED_AT_MAX - 1} LIMIT 1`;

/**
 * Returns devices that show a signal of a release, as its health counts them: known for so long before it, on
 * its channel or another. A place in the list is the time for which a device was known and its id, so that a
 * page searches no more than `LOOKED_AT_MAX` devices, however many the release reached. Of a client address,
 * the health may count fewer failures than are listed.
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
  const guards: PlanGuards = (await findPlan(sql, release.id))?.state.guards ?? USUAL_GUARDS;
  const { limit, after } = filter;
  const from = after === undefined ? BEGINNING : placeOf(after);
  const place = [
    ...[release.id, guards.knownForMinutes, guards.source === 'push'],
    ...[from.known, storableText(from.deviceId)],
  ];
  const rows = await sql.query<DeviceRow & Place>(PAGES[signal], [
    ...(await deviceConditions(sql, app.id, filter)),
    ...place,
    ...[guards.stuckAfterMinutes, guards.silentAfterMinutes, limit + 1],
  ]);
  const shown = rows.slice(0, limit);
  const [last] =
    rows.length > limit ? shown.slice(-1) : await sql.query<Place>(LAST_LOOKED_AT, place);
  const next = last === undefined ? null : `${last.known}:${last.deviceId}`;
  return { devices: shown.map(deviceOf), next };
}

/** Reads what `next` of a page says; the beginning where it cannot be read. */
function placeOf(after: string): Place {
  const colon = after.indexOf(':');
  const known = Number(after.slice(0, colon));
  if (colon < 1 || !Number.isInteger(known)) return BEGINNING;
  return { known, deviceId: after.slice(colon + 1) };
}
