// SQL of a release's signals: counts of devices that took it, failed, or fell silent, lists of them, and
// failure reports.

import type { DevicePage } from '../../contract/console-fleet.ts';
import { isFailure, type Outcome, type UnknownRelease } from '../../contract/failure.ts';
import type { FailureBreakdown, FailureReason } from '../../contract/failure-breakdown.ts';
import type { PlanGuards, Signal } from '../../contract/rollout-plan.ts';
import { storableText } from '../../contract/text.ts';
import { failurePlaces, type PlaceCounts } from '../../domain/rollout/failure-places.ts';
import { USUAL_GUARDS } from '../../domain/rollout/judge-health.ts';
import type { PlanState } from '../../domain/rollout/plan-state.ts';
import type {
  SignalCounts,
  SignalNetworks,
  SilentOthers,
} from '../../domain/rollout/signal-counts.ts';
import type { ReportedFailure, SignalDeviceFilter } from '../fleet-ledger.ts';
import type { ReleaseName, TenantScope } from '../ledger-terms.ts';
import { columns, isoText } from './columns.ts';
import type { Sql } from './database.ts';
import {
  DEVICE_COLUMNS,
  type DeviceRow,
  deviceConditions,
  deviceOf,
  OTHER_CONDITIONS,
  VERSION_CONDITIONS,
} from './devices.ts';
import { countInReach } from './fleet-counts.ts';
import { findPlan, findReleaseByName } from './plan-rows.ts';

// Parts of the statements that read signals: which devices count, what a device is in, and which devices are
// looked at.

/**
 * Conditions of signals and of their bases (docs/contract.md 27.6), on columns of `release_devices`, the
 * `last_seen` of the device, and `signalTimes`. Failures are in a table of their own.
 */
const SIGNAL_CONDITIONS = {
  failedBase: 'offered_at IS NOT NULL',
  reverted: 'reverted_at IS NOT NULL',
  revertedBase: 'installed_at IS NOT NULL',
  stuck: 'installed_at IS NULL AND last_seen - offered_at > stuck_after',
  stuckBase: 'offered_at <= now() - stuck_after',
  silent: `least(offered_at, installed_at) <= now() - silent_after
    AND last_seen <= now() - silent_after`,
  silentBase: 'least(offered_at, installed_at) <= now() - silent_after',
} as const;

/**
 * Condition on rows that tell how long their devices were known: for the edge $2 before the release was
 * published, by their reports with a key where $3 is true.
 */
export const IS_KNOWN = 'CASE WHEN $3 THEN pushed ELSE known END >= $2';

/** Number of devices that are looked at of those that a release reached. */
export const REACHED_LOOKED_AT = 10_000;
/** Number of devices that are looked at of a channel and its followers: those that never got the release. */
export const OTHERS_LOOKED_AT = 4000;

/** Hashes of device ids: how many there are, the lowest and the highest. */
const HASHES = 2 ** 32;
const HASH_MIN = -(2 ** 31);
const HASH_MAX = 2 ** 31 - 1;

/** Times after which a device is stuck or silent, from two parameters in minutes. */
function signalTimes(stuckMinutes: string, silentMinutes: string): string {
  return `(
    SELECT ${stuckMinutes}::int * interval '1 minute' AS stuck_after,
      ${silentMinutes}::int * interval '1 minute' AS silent_after
  ) AS signal_times`;
}

/**
 * Devices of the release $1 that were known for the edge $2, of those reported with a key where $3 is true,
 * with hashes up to $4. The index has the devices of each edge in the order of a hash of their ids, so that
 * about as many are read as are to be looked at, the same ones each time: those up to a hash. A device that
 * was reported long enough before the release was known for at least as long. OFFSET 0 keeps the order in
 * which tables are looked up: a plan for the whole of a large fleet, most of which has been reached, would
 * read all of it.
 */
const REACHED_SAMPLE = `(
  SELECT reached.*, devices.last_seen, devices.platform, devices.version, devices.network
  FROM unnest(signal_edges()) AS edge
  CROSS JOIN LATERAL (
    SELECT * FROM release_devices
    WHERE release_id = $1 AND known = edge AND hashtext(device_id) <= $4::integer OFFSET 0
  ) AS reached
  CROSS JOIN LATERAL (
    SELECT last_seen, platform, version, network FROM devices
    WHERE app_id = reached.app_id AND device_id = reached.device_id OFFSET 0
  ) AS devices
  WHERE edge >= $2 AND (NOT $3 OR reached.pushed >= $2)
    AND EXISTS (SELECT FROM releases WHERE id = $1 AND is_watched)
) AS looked_at`;

/** Returns the number of devices that each of those that are looked at stands for, of so many. */
function reachedScale(reached: number): number {
  return Math.max(reached / REACHED_LOOKED_AT, 1);
}

/** Returns the hash up to which one of so many devices lies. */
export function highestHash(scale: number): number {
  return Math.min(Math.floor(HASHES / scale) + HASH_MIN, HASH_MAX);
}

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
  scope: TenantScope,
  name: ReleaseName,
  signal: Signal,
  filter: SignalDeviceFilter,
): Promise<Outcome<DevicePage, UnknownRelease>> {
  const found = await findReleaseByName(sql, scope, name);
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

// Statement that adds up what check-ins tell of a release. schema/rollouts.sql defines the rows that it
// reads.

type CountedSignals = Pick<SignalCounts, 'offered' | 'installed' | 'reverted' | 'failed'> & {
  /** Devices that the release reached. */
  readonly reached: number;
};
type Looked = Pick<SignalCounts, 'stuck' | 'stuckBase' | 'silent' | 'silentBase' | 'compared'> & {
  /** Number of the step in which most of the base was reached; 0 before the first, null without a base. */
  readonly step: number | null;
  /** Networks of those that were looked at. */
  readonly networks: SignalCounts['networks'];
};
type Others = Omit<SilentOthers, 'scale'>;

/** Conditions of the devices that are looked at. */
const SIGNAL_NAMES = [
  ...(['failedBase', 'reverted', 'revertedBase', 'stuck', 'stuckBase', 'silent'] as const),
  'silentBase',
] as const satisfies readonly (keyof typeof SIGNAL_CONDITIONS)[];

/** Condition of a device of a network: silent ones are counted among those that are compared. */
function comparedOf(name: keyof typeof SIGNAL_CONDITIONS): string {
  const condition = `looked."${name}"`;
  return name.startsWith('silent') ? `${condition} AND is_compared` : condition;
}

/** Networks of a signal that are told: those with the most devices above the signal's own share. */
const NETWORKS_MAX = 20;

/** Networks of a signal as a pair of name and value. */
function networksOf(signal: 'reverted' | 'stuck' | 'silent'): string {
  const [hits, base] = [`"${signal}"`, `"${signal}Base"`];
  return `'${signal}', (
        SELECT jsonb_build_object('count', count(*), 'largest', coalesce(
          jsonb_agg(jsonb_build_object('hits', hits, 'base', base)) FILTER (WHERE place <= ${NETWORKS_MAX}),
          '[]'
        )) FROM (
          SELECT ${hits} AS hits, ${base} AS base, row_number() OVER (ORDER BY ${hits} - ${base}
            * (SELECT count(*) FILTER (WHERE ${hits}) / greatest(count(*) FILTER (WHERE ${base}), 1)::float8
               FROM looked) DESC) AS place
          FROM by_network WHERE ${hits} > 0
        ) AS each_network
      )`;
}

const COUNTED = `
  WITH summed AS MATERIALIZED (
    SELECT coalesce(sum(devices) FILTER (WHERE kind = 'offered'), 0) AS offered,
      coalesce(sum(devices) FILTER (WHERE kind = 'installed'), 0) AS installed,
      coalesce(sum(devices) FILTER (WHERE kind = 'reverted'), 0) AS reverted,
      coalesce(sum(devices) FILTER (WHERE kind = 'reached'), 0) AS reached
    FROM release_signals
    WHERE release_id = $1 AND ${IS_KNOWN}
      AND EXISTS (SELECT FROM releases WHERE id = $1 AND is_watched)
  )
  SELECT offered::float8, installed::float8, reverted::float8, reached::float8, coalesce((
    SELECT sum(CASE WHEN network IS NULL THEN devices
      ELSE least(devices, greatest(3, floor(offered / 100))) END)
    FROM (
      SELECT network, count(*) AS devices FROM release_failures
      WHERE release_id = $1 AND is_offered AND ${IS_KNOWN}
      GROUP BY network
    ) AS by_network
  ), 0)::float8 AS failed
  FROM summed`;

const LOOKED = `
  WITH all_looked AS MATERIALIZED (
    SELECT network, ${SIGNAL_NAMES.map(
      (name) => `(${SIGNAL_CONDITIONS[name]}) IS TRUE AS "${name}"`,
    ).join(', ')},
      last_seen, width_bucket(least(offered_at, installed_at), $7::timestamptz[]) AS step
    FROM ${REACHED_SAMPLE}, ${signalTimes('$5', '$6')}
  ), most AS MATERIALIZED (
    SELECT mode() WITHIN GROUP (ORDER BY step) FILTER (WHERE "silentBase")::integer AS step FROM all_looked
  ), looked AS MATERIALIZED (
    SELECT all_looked.*,
      last_seen >= coalesce(($7::timestamptz[])[most.step], '-infinity') AS is_compared
    FROM all_looked, most
  ), failures AS MATERIALIZED (
    SELECT network_hash(network) AS network, sum(devices) AS hits FROM (
      SELECT network, least(count(*), greatest(3, floor($8::float8 / 100))) AS devices
      FROM release_failures
      WHERE release_id = $1 AND is_offered AND network IS NOT NULL AND ${IS_KNOWN}
      GROUP BY network
    ) AS told GROUP BY 1
  ), by_network AS MATERIALIZED (
    SELECT network, ${SIGNAL_NAMES.map(
      (name) => `count(*) FILTER (WHERE ${comparedOf(name)}) AS "${name}"`,
    ).join(', ')}
    FROM looked WHERE network IS NOT NULL GROUP BY network
  )
  SELECT ${(['stuckBase', 'stuck', 'silentBase', 'silent'] as const)
    .map((name) => `count(*) FILTER (WHERE "${name}")::float8 AS "${name}"`)
    .join(', ')},
    (SELECT step FROM most) AS step,
    jsonb_build_object(
      'hits', count(*) FILTER (WHERE silent AND is_compared),
      'base', count(*) FILTER (WHERE "silentBase" AND is_compared)
    ) AS compared,
    jsonb_build_object(
      ${(['reverted', 'stuck', 'silent'] as const).map(networksOf).join(',\n      ')},
      'failed', (
        SELECT jsonb_build_object('count', count(*), 'largest', coalesce(
          jsonb_agg(jsonb_build_object('hits', hits, 'base', base)) FILTER (WHERE place <= ${NETWORKS_MAX}),
          '[]'
        )) FROM (
          SELECT failures.hits::float8, coalesce(by_network."failedBase", 0) AS base,
            row_number() OVER (ORDER BY failures.hits DESC) AS place
          FROM failures LEFT JOIN by_network USING (network)
        ) AS each_network
      )
    ) AS networks
  FROM looked`;

// As in signal-conditions.ts: see sample-devices.ts.
const OTHERS = `
  SELECT count(*)::float8 AS devices,
    count(*) FILTER (WHERE last_seen <= now() - $3::int * interval '1 minute')::float8 AS silent
  FROM releases JOIN channels AS own ON own.id = releases.channel_id
  JOIN channels AS place ON place.id = own.id OR place.follows = own.id
  CROSS JOIN LATERAL (
    SELECT app_id, device_id, last_seen FROM devices
    WHERE device_place(app_id, channel) = device_place(place.app_id, place.name)
      AND app_id = place.app_id AND channel = place.name AND hashtext(device_id) <= $5::integer
      AND last_seen >= greatest(releases.published_at, $6::timestamptz)
      AND CASE WHEN $4 THEN first_reported ELSE first_seen END
        <= releases.published_at - $2::int * interval '1 minute' OFFSET 0
  ) AS other
  WHERE releases.id = $1 AND NOT EXISTS (
    SELECT FROM release_devices AS reached WHERE reached.app_id = other.app_id
      AND reached.device_id = other.device_id AND reached.release_id = $1 OFFSET 0
  )`;

/**
 * Adds up the signals of a release as guards ask for them. Failures of one client address count up to three,
 * or 1 % of the devices that were offered the release: of an address with more, nobody knows how many of its
 * devices are real. Those of reports with a key are not bounded so. Stuck and silent ones are counted over
 * all devices that the release reached, or over about 10,000 of them that are as good as drawn by lot. The
 * channel's other devices are counted over about 4000 of its devices: a share of 10 % silent ones is right
 * within a percent point, in 19 of 20 cases, where all that were looked at are such. Those count that were
 * seen since the step began in which most of the base was reached: they had the same time to fall silent.
 */
export async function readSignals(
  sql: Sql,
  releaseId: string,
  plan: Pick<PlanState, 'guards' | 'steps'> | undefined,
  knownForMinutes?: number,
): Promise<SignalCounts> {
  const taking = signalTaking(plan?.guards ?? null);
  const { isPushed, stuckAfterMinutes, silentAfterMinutes } = taking;
  const known = knownForMinutes ?? taking.known;
  const { reached, ...counts } = await countSignals(sql, releaseId, known, isPushed);
  const scale = reachedScale(reached);
  const begun = (plan?.steps ?? []).flatMap(({ startedAt }) => startedAt ?? []);
  const [looked] = await sql.query<Looked>(LOOKED, [
    ...[releaseId, known, isPushed, highestHash(scale), stuckAfterMinutes, silentAfterMinutes],
    ...[begun, counts.offered],
  ]);
  const inReach = await countInReach(sql, releaseId);
  const othersScale = Math.max(inReach / OTHERS_LOOKED_AT, 1);
  const [others] = await sql.query<Others>(OTHERS, [
    ...[releaseId, known, silentAfterMinutes, isPushed, highestHash(othersScale)],
    begun[(looked?.step ?? 0) - 1] ?? null,
  ]);
  if (looked === undefined || others === undefined) {
    throw new Error(`Release ${releaseId} has no devices`);
  }
  const { step: _, networks, ...silence } = looked;
  return {
    ...{ ...counts, ...silence, scale, others: { ...others, scale: othersScale } },
    networks: {
      ...networks,
      failed: scaled(networks.failed, 1, scale),
      reverted: scaled(networks.reverted, scale, scale),
    },
  };
}

/** Returns the networks of a signal that is counted over all devices, from those that were looked at. */
function scaled({ count, largest }: SignalNetworks, hitsScale: number, baseScale: number) {
  const parts = largest.map(({ hits, base }) => ({
    hits: hits * hitsScale,
    base: base * baseScale,
  }));
  return { count, largest: parts };
}

/** Reads the counts of a release, of devices that were known for so many minutes before it. */
async function countSignals(
  sql: Sql,
  releaseId: string,
  known: number,
  isPushed: boolean,
): Promise<CountedSignals> {
  const [counted] = await sql.query<CountedSignals>(COUNTED, [releaseId, known, isPushed]);
  if (counted === undefined) throw new Error(`Release ${releaseId} has no signals`);
  return counted;
}

// How the signals of a release are taken.

/** How the signals of a release are taken; times in minutes. */
export type SignalTaking = {
  readonly known: number;
  /** Whether only devices count that were reported with a key. */
  readonly isPushed: boolean;
  readonly stuckAfterMinutes: number;
  readonly silentAfterMinutes: number;
};

/** Returns how guards take signals; those of a release without guards are taken as usual. */
export function signalTaking(guards: PlanGuards | null): SignalTaking {
  const given: PlanGuards = guards ?? USUAL_GUARDS;
  const { knownForMinutes: known, stuckAfterMinutes, silentAfterMinutes } = given;
  return { known, isPushed: given.source === 'push', stuckAfterMinutes, silentAfterMinutes };
}

/** Reads how the signals of a release are taken: as the guards of its newest plan say. */
export async function readSignalTaking(sql: Sql, releaseId: string): Promise<SignalTaking> {
  return signalTaking((await findPlan(sql, releaseId))?.state.guards ?? null);
}

// Statements that tell how the failures of a release break down: its signals by platform and version, and why
// devices failed.

const REASONS_MAX = 20;
/** Number of failures whose reasons are read. */
const FAILURES_READ_MAX = 10_000;

const counted = (name: keyof typeof SIGNAL_CONDITIONS) =>
  `count(*) FILTER (WHERE ${SIGNAL_CONDITIONS[name]})::float8`;

const PLACE_COLUMNS = columns<PlaceCounts>({
  dimension: `CASE WHEN grouping(platform) = 0 THEN 'platform' ELSE 'version' END`,
  name: 'coalesce(platform, version_before)',
  failed: `count(*) FILTER (WHERE has_failed)::float8`,
  failedBase: counted('failedBase'),
  reverted: counted('reverted'),
  revertedBase: counted('revertedBase'),
  stuck: counted('stuck'),
  stuckBase: counted('stuckBase'),
  silent: counted('silent'),
  silentBase: counted('silentBase'),
});

/**
 * Failures of the release $1 that count as in the health: of a client address the first ones, up to a number
 * that is a parameter.
 */
const failuresThatCount = (perNetwork: string) => `(
  SELECT device_id, reason, at FROM (
    SELECT device_id, reason, at, network,
      row_number() OVER (PARTITION BY network ORDER BY at, device_id) AS place
    FROM release_failures
    WHERE release_id = $1 AND is_offered AND ${IS_KNOWN}
  ) AS told WHERE network IS NULL OR place <= ${perNetwork}::float8
)`;

// The version before is that of the change which brought the device to the release; none is known of one that
// was on that version already, or that has forgotten so early a change.
const PLACES = `
  WITH failed AS MATERIALIZED (
    SELECT device_id FROM ${failuresThatCount('$7')} AS counted
  ), placed AS MATERIALIZED (
    SELECT looked_at.*, device_id IN (SELECT device_id FROM failed) AS has_failed,
      CASE WHEN installed_at IS NULL THEN version ELSE coalesce((
        SELECT from_version FROM device_versions AS change
        WHERE change.app_id = looked_at.app_id AND change.device_id = looked_at.device_id
          AND change.at = looked_at.installed_at LIMIT 1
      ), '') END AS version_before
    FROM ${REACHED_SAMPLE}
  )
  SELECT ${PLACE_COLUMNS} FROM placed, ${signalTimes('$5', '$6')}
  GROUP BY GROUPING SETS ((platform), (version_before))`;

const REASON_COLUMNS = columns<FailureReason>({
  reason: 'reason',
  devices: 'count(*)::float8',
  at: isoText('max(newest.at)'),
});

const REASONS = `
  SELECT ${REASON_COLUMNS} FROM (
    SELECT nullif(reason, '') AS reason, at FROM ${failuresThatCount('$4')} AS counted
    ORDER BY counted.at DESC LIMIT ${FAILURES_READ_MAX}
  ) AS newest
  GROUP BY reason ORDER BY count(*) DESC, max(newest.at) DESC LIMIT ${REASONS_MAX}`;

/**
 * Reads how the failures of a release break down, of the devices by which its health is judged: of more than
 * 10,000 that it reached about 10,000 are looked at. Above that number, failures and reverted devices are
 * those of the devices that were looked at, although the health has all of them.
 */
export async function readFailureBreakdown(
  sql: Sql,
  scope: TenantScope,
  name: ReleaseName,
): Promise<Outcome<FailureBreakdown, UnknownRelease>> {
  const found = await findReleaseByName(sql, scope, name);
  if (isFailure(found)) return found;
  const releaseId = found.release.id;
  const { known, isPushed, ...after } = await readSignalTaking(sql, releaseId);
  const { reached, offered } = await countSignals(sql, releaseId, known, isPushed);
  const scale = reachedScale(reached);
  const perNetwork = Math.max(3, Math.floor(offered / 100));
  const places = await sql.query<PlaceCounts>(PLACES, [
    ...[releaseId, known, isPushed, highestHash(scale)],
    ...[after.stuckAfterMinutes, after.silentAfterMinutes, perNetwork],
  ]);
  const reasons = await sql.query<FailureReason>(REASONS, [
    ...[releaseId, known, isPushed, perNetwork],
  ]);
  return { signals: failurePlaces(places), scale, reasons };
}

// Statement that records devices which could not install a release.

// A client address writes no more rows of a release than could ever count: as many as there are in 1 % of the
// devices of the app.
const RECORD = `
  INSERT INTO release_failures
    (release_id, app_id, device_id, network, known, pushed, is_offered, version, reason)
  SELECT DISTINCT ON (releases.id, item.device_id) releases.id, item.app_id, item.device_id, item.network,
    coalesce(reached.known, signal_edge(releases.published_at - devices.first_seen)),
    coalesce(reached.pushed, signal_edge(releases.published_at - devices.first_reported), -1),
    reached.offered_at IS NOT NULL,
    item.version, item.reason
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
    AS item (app_id, channel, device_id, version, failed_version, reason, network)
  JOIN channels ON channels.app_id = item.app_id AND channels.name = item.channel
  JOIN releases ON releases.channel_id IN (channels.id, channels.follows)
    AND releases.canonical_version = item.failed_version
  JOIN devices ON devices.app_id = item.app_id AND devices.device_id = item.device_id
  LEFT JOIN release_devices AS reached ON reached.app_id = item.app_id
    AND reached.device_id = item.device_id AND reached.release_id = releases.id
  WHERE releases.is_watched AND devices.first_seen <= releases.published_at AND (item.network IS NULL OR (
    SELECT count(*) FROM release_failures AS other
    WHERE other.release_id = releases.id AND other.network = item.network
  ) < greatest(3, (
    SELECT coalesce(sum(fleet_counts.devices), 0) / 100 FROM fleet_counts
    WHERE fleet_counts.app_id = item.app_id
  )))
  ORDER BY releases.id, item.device_id
  ON CONFLICT (release_id, device_id) DO UPDATE SET is_offered = TRUE,
      known = excluded.known, pushed = excluded.pushed
    WHERE excluded.is_offered AND NOT release_failures.is_offered`;

/**
 * Records failures, each device once for a release, only of devices that were on record when the release was
 * published. Both the device's channel and the one that it follows may have the version: then both releases
 * get the row, and count it only if they were offered to the device. Must be called in a transaction: under
 * the locks of the devices, either this sees the first offer, or whoever records that offer sees the failure.
 */
export async function recordFailures(
  sql: Sql,
  failures: readonly ReportedFailure[],
): Promise<void> {
  if (failures.length === 0) return;
  const text = (value: string | undefined) => (value === undefined ? null : storableText(value));
  const appIds = failures.map(({ appId }) => appId);
  const deviceIds = failures.map(({ deviceId }) => text(deviceId));
  await sql.query('SELECT lock_device_parts($1::text[], $2::text[])', [appIds, deviceIds]);
  await sql.query(RECORD, [
    appIds,
    failures.map(({ channel }) => text(channel)),
    deviceIds,
    failures.map(({ runs }) => text(runs)),
    failures.map(({ canonicalVersion }) => text(canonicalVersion)),
    failures.map(({ reason }) => text(reason)),
    failures.map(({ network }) => network ?? null),
  ]);
}
