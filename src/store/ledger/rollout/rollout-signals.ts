// SQL of a release's signals: counts and lists of devices that installed it, failed, reverted, are stuck, or
// fell silent.

import type { DevicePage } from '../../../contract/console-fleet.ts';
import { isFailure, type Outcome } from '../../../contract/failure.ts';
import type { PlanGuards, Signal } from '../../../contract/rollout-plan.ts';
import { storableText } from '../../../contract/text.ts';
import { USUAL_GUARDS } from '../../../domain/rollout/judge-health.ts';
import type { PlanState } from '../../../domain/rollout/plan-state.ts';
import type {
  OtherDevices,
  SignalCounts,
  SignalNetworks,
} from '../../../domain/rollout/signal-counts.ts';
import type { SignalDeviceFilter } from '../../fleet-ledger.ts';
import type { ReleaseName, TenantScope } from '../../ledger-terms.ts';
import { findPlan, findReleaseByName } from '../change/plan-rows.ts';
import type { Sql } from '../database/database.ts';
import {
  DEVICE_COLUMNS,
  type DeviceRow,
  deviceConditions,
  deviceOf,
  OTHER_CONDITIONS,
  VERSION_CONDITIONS,
} from '../fleet/devices.ts';
import { countInReach } from '../fleet/fleet-counts.ts';

/**
 * Conditions of signals, and of their bases, the devices that could show them (docs/contract.md 27.6). They
 * are on `release_devices`, the device's `last_seen` and `signalTimes`; failures have their own table.
 */
export const SIGNAL_CONDITIONS = {
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
 * Condition on devices that had been on record for at least $2 minutes (one of `signal_edges`) when the
 * release was published; if $3 is true, counted from their first report with an API key.
 */
export const IS_KNOWN = 'CASE WHEN $3 THEN pushed ELSE known END >= $2';

/** Number of devices to read among those that a release reached. */
export const REACHED_LOOKED_AT = 10_000;
/** Number of devices to read on a channel and its followers; those not reached are compared. */
export const OTHERS_LOOKED_AT = 4000;

/** Number of hash values of device ids, and the lowest and the highest of them. */
const HASHES = 2 ** 32;
const HASH_MIN = -(2 ** 31);
const HASH_MAX = 2 ** 31 - 1;

/** Returns the SQL of the times after which a device is stuck or silent; both arguments are in minutes. */
export function signalTimes(stuckMinutes: string, silentMinutes: string): string {
  return `(
    SELECT ${stuckMinutes}::int * interval '1 minute' AS stuck_after,
      ${silentMinutes}::int * interval '1 minute' AS silent_after
  ) AS signal_times`;
}

/** Network of a device; null for one that was reported with an API key, which no stranger can do. */
const NETWORK = 'CASE WHEN first_reported IS NULL THEN network END';

/**
 * Sample of the devices that the release $1 reached, on record for the edge $2 (see `IS_KNOWN`), with hashes
 * up to $4. The index has the devices of each edge in the order of a hash of their ids, so about as many rows
 * are read as needed, the same ones each time. A device reported long enough before the release was on record
 * for at least as long. OFFSET 0 keeps the order of lookups: where most of a large fleet was reached, the
 * planner would otherwise read all devices.
 */
export const REACHED_SAMPLE = `(
  SELECT reached.*, devices.last_seen, devices.platform, devices.version, devices.network
  FROM unnest(signal_edges()) AS edge
  CROSS JOIN LATERAL (
    SELECT * FROM release_devices
    WHERE release_id = $1 AND known = edge AND hashtext(device_id) <= $4::integer OFFSET 0
  ) AS reached
  CROSS JOIN LATERAL (
    SELECT last_seen, platform, version, ${NETWORK} AS network FROM devices
    WHERE app_id = reached.app_id AND device_id = reached.device_id OFFSET 0
  ) AS devices
  WHERE edge >= $2 AND (NOT $3 OR reached.pushed >= $2)
    AND EXISTS (SELECT FROM releases WHERE id = $1 AND is_watched)
) AS looked_at`;

/** Returns how many reached devices each device of the sample stands for. */
export function reachedScale(reached: number): number {
  return Math.max(reached / REACHED_LOOKED_AT, 1);
}

/** Returns the highest hash of a sample with one in `scale` devices. */
export function highestHash(scale: number): number {
  return Math.min(Math.floor(HASHES / scale) + HASH_MIN, HASH_MAX);
}

/** Target number of devices per statement. */
const RANGE_DEVICES = 2000;
/** Maximum number of statements per page, which read about 20,000 devices. */
const RANGES_MAX = 10;

/** Position in the list, which is sorted by hash, then by id; a page begins after it. */
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
 * Statement of the devices in a range of hashes. As in `REACHED_SAMPLE`, the index has this order, so that
 * only rows of the range are read, and OFFSET 0 keeps the order of lookups.
 */
const range = (signal: Signal) => `
  WITH page AS (
    SELECT reached.app_id, reached.device_id, hashtext(reached.device_id) AS hash
    FROM unnest(signal_edges()) AS edge
    CROSS JOIN LATERAL (
      SELECT * FROM release_devices WHERE release_id = $12 AND known = edge
        AND hashtext(device_id) BETWEEN $15::integer AND $17::integer OFFSET 0
    ) AS reached
    CROSS JOIN LATERAL (
      SELECT * FROM devices WHERE app_id = $1 AND device_id = reached.device_id OFFSET 0
    ) AS looked_at
    CROSS JOIN ${signalTimes('$18', '$19')}
    WHERE edge >= $13 AND (NOT $14 OR reached.pushed >= $13)
      AND (hashtext(reached.device_id), reached.device_id) > ($15::integer, $16::text COLLATE "C")
      AND ${CONDITIONS[signal]} AND ${VERSION_CONDITIONS} AND ${OTHER_CONDITIONS}
    ORDER BY hash, reached.device_id LIMIT $20
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
 * Reads a page of the devices that show a signal of a release, among those that its health counts, on any
 * channel. They come in the order of a hash of their ids, range by range, until the page is full or 20,000
 * were read: a page may have fewer devices than asked for, or none, and still a `next`. The health may count
 * fewer failures of one client address than are listed.
 */
export async function listSignalDevices(
  sql: Sql,
  scope: TenantScope,
  name: ReleaseName,
  signal: Signal,
  filter: SignalDeviceFilter,
): Promise<Outcome<DevicePage>> {
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

/** Reads range after range, one device more than asked for, to detect a next page. */
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

/** Parses the cursor of a page; the beginning if it is malformed. */
function placeOf(after = ''): Place {
  const [, hash, deviceId] = /^(-?\d{1,10}):(.*)$/s.exec(after) ?? [];
  if (hash === undefined || deviceId === undefined) return BEGINNING;
  return { hash: Math.min(Math.max(Number(hash), HASH_MIN), HASH_MAX), deviceId };
}

type CountedSignals = Pick<SignalCounts, 'offered' | 'installed' | 'reverted' | 'failed'> & {
  /** Number of devices that the release reached. */
  readonly reached: number;
};
type Looked = Pick<SignalCounts, 'stuck' | 'stuckBase' | 'silent' | 'silentBase' | 'compared'> & {
  readonly others: Omit<OtherDevices, 'scale'>;
  /** Counts by network, in the samples; failures are not sampled. */
  readonly networks: SignalCounts['networks'];
};

/** Conditions that the sample is counted by. */
const SIGNAL_NAMES = [
  ...(['failedBase', 'reverted', 'revertedBase', 'stuck', 'stuckBase', 'silent'] as const),
  'silentBase',
] as const satisfies readonly (keyof typeof SIGNAL_CONDITIONS)[];

/** Condition of a device for counts by network; silent devices count only among the compared ones. */
function comparedOf(name: keyof typeof SIGNAL_CONDITIONS): string {
  const condition = `looked."${name}"`;
  return name.startsWith('silent') ? `${condition} AND is_compared` : condition;
}

/**
 * Networks of a signal as a JSON object, from rows of `source`, one for each network, with `hits` and these
 * other numbers. Networks that differ only in `hits` are one part, with the most hits: without that network
 * the rate is lowest. Parts are few, because the samples bound the sums of the numbers: 141 networks with
 * different bases have 10,011 devices, and some 1,000 differ in three numbers.
 */
function networksOf(source: string, numbers: readonly string[]): string {
  const names = numbers.join(', ');
  const fields = ['hits', ...numbers]
    .map((name) => `'${name.replaceAll('"', '')}', ${name}`)
    .join(', ');
  return `(
        SELECT jsonb_build_object('count', coalesce(sum(networks), 0),
          'parts', coalesce(jsonb_agg(jsonb_build_object(${fields})), '[]'))
        FROM (
          SELECT ${names}, max(hits) AS hits, count(*) FILTER (WHERE hits > 0) AS networks
          FROM (${source}) AS network GROUP BY ${names}
        ) AS part
      )`;
}

/** Networks of the sample's devices that could show a signal (its base). */
function sampledNetworks(signal: 'reverted' | 'stuck'): string {
  const source = `SELECT "${signal}" AS hits, "${signal}Base" AS base FROM by_network
           WHERE "${signal}Base" > 0`;
  return networksOf(source, ['base']);
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

/** Number of the release's devices that each device of the sample stands for. */
const SCALE = '$10::float8';

/** Maximum counted failures of one client address, given the number of devices offered the release. */
const countedOf = (offered: string) => `greatest(3, floor(greatest(${offered}, 0) / 100))`;

/**
 * Reads both samples once. The base of silent devices decides which others are compared with it. OFFSET 0 as
 * in `REACHED_SAMPLE`; the index of the others as in `sampleDevices`.
 *
 * The failures of one address count up to three, or 1 % of the offered devices. Without a network that limit
 * may be lower for all other addresses: its hits are all failures that would no longer count.
 */
const LOOKED = `
  WITH all_looked AS MATERIALIZED (
    SELECT network, ${SIGNAL_NAMES.map(
      (name) => `(${SIGNAL_CONDITIONS[name]}) IS TRUE AS "${name}"`,
    ).join(', ')},
      last_seen, width_bucket(least(offered_at, installed_at), $7::timestamptz[]) AS step
    FROM ${REACHED_SAMPLE}, ${signalTimes('$5', '$6')}
  ), most AS MATERIALIZED (
    SELECT ($7::timestamptz[])[
      mode() WITHIN GROUP (ORDER BY step) FILTER (WHERE "silentBase")::integer
    ] AS since FROM all_looked
  ), looked AS MATERIALIZED (
    SELECT all_looked.*, last_seen >= coalesce(most.since, '-infinity') AS is_compared
    FROM all_looked, most
  ), others AS MATERIALIZED (
    SELECT network, last_seen <= now() - $6::int * interval '1 minute' AS is_silent
    FROM most CROSS JOIN releases JOIN channels AS own ON own.id = releases.channel_id
    JOIN channels AS place ON place.id = own.id OR place.follows = own.id
    CROSS JOIN LATERAL (
      SELECT app_id, device_id, last_seen, ${NETWORK} AS network FROM devices
      WHERE device_place(app_id, channel) = device_place(place.app_id, place.name)
        AND app_id = place.app_id AND channel = place.name AND hashtext(device_id) <= $9::integer
        AND last_seen >= greatest(releases.published_at, most.since)
        AND CASE WHEN $3 THEN first_reported ELSE first_seen END
          <= releases.published_at - $2::int * interval '1 minute' OFFSET 0
    ) AS other
    WHERE releases.id = $1 AND NOT EXISTS (
      SELECT FROM release_devices AS reached WHERE reached.app_id = other.app_id
        AND reached.device_id = other.device_id AND reached.release_id = $1 OFFSET 0
    )
  ), by_network AS MATERIALIZED (
    SELECT network, ${SIGNAL_NAMES.map(
      (name) => `count(*) FILTER (WHERE ${comparedOf(name)}) AS "${name}"`,
    ).join(', ')}
    FROM looked WHERE network IS NOT NULL GROUP BY network
  ), others_by_network AS MATERIALIZED (
    SELECT network, count(*) AS others, count(*) FILTER (WHERE is_silent) AS silent_others
    FROM others WHERE network IS NOT NULL GROUP BY network
  ), told AS MATERIALIZED (
    SELECT network_hash(network) AS network, count(*) AS devices,
      count(*) FILTER (WHERE pushed >= 0) AS reported
    FROM release_failures
    WHERE release_id = $1 AND is_offered AND network IS NOT NULL AND ${IS_KNOWN}
    GROUP BY release_failures.network
  ), told_by_size AS MATERIALIZED (
    SELECT devices, count(*) AS addresses FROM told GROUP BY devices
  ), telling AS MATERIALIZED (
    SELECT network, base, ${countedOf('$8::float8 - base')} AS counted_max
    FROM (
      SELECT network, coalesce("failedBase", 0) * ${SCALE} AS base
      FROM by_network FULL JOIN (SELECT DISTINCT network FROM told) AS any_told USING (network)
    ) AS network
  ), failing AS MATERIALIZED (
    SELECT base, counted_max,
      coalesce(sum(least(devices, counted_max) - least(reported, counted_max)), 0) AS hits
    FROM telling LEFT JOIN told USING (network) GROUP BY network, base, counted_max
  ), uncounted AS MATERIALIZED (
    SELECT counted_max, (
      SELECT coalesce(sum(
        addresses * (least(devices, ${countedOf('$8::float8')}) - least(devices, counted_max))
      ), 0) FROM told_by_size
    ) AS devices
    FROM (SELECT DISTINCT counted_max FROM telling) AS bound
  )
  SELECT ${(['stuckBase', 'stuck', 'silentBase', 'silent'] as const)
    .map((name) => `count(*) FILTER (WHERE "${name}")::float8 AS "${name}"`)
    .join(', ')},
    jsonb_build_object(
      'hits', count(*) FILTER (WHERE silent AND is_compared),
      'base', count(*) FILTER (WHERE "silentBase" AND is_compared)
    ) AS compared,
    (SELECT jsonb_build_object('devices', count(*), 'silent', count(*) FILTER (WHERE is_silent))
     FROM others) AS others,
    jsonb_build_object(
      'failed', ${networksOf(
        `SELECT hits + devices AS hits, base FROM failing JOIN uncounted USING (counted_max)`,
        ['base'],
      )},
      'reverted', ${sampledNetworks('reverted')},
      'stuck', ${sampledNetworks('stuck')},
      'silent', ${networksOf(
        `SELECT coalesce(silent, 0) AS hits, coalesce("silentBase", 0) AS base,
           coalesce(others, 0) AS others, coalesce(silent_others, 0) AS "silentOthers"
         FROM by_network FULL JOIN others_by_network USING (network)
         WHERE "silentBase" > 0 OR others > 0`,
        ['base', 'others', '"silentOthers"'],
      )}
    ) AS networks
  FROM looked`;

/**
 * Counts the signals of a release for guards. Failures of one client address count up to three, or 1 % of the
 * devices that were offered the release, because nobody knows how many of its devices are real; failures in
 * reports with an API key all count. Stuck and silent devices are counted among all reached devices, or in a
 * random sample of about 10,000. The channel's other devices are counted in a sample of about 4,000: a rate
 * of 10 % silent ones is within one percentage point in 19 of 20 cases, if all in the sample count. Of these,
 * only those count that were seen since the step began in which most of the base was reached: they had the
 * same time to fall silent.
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
  const othersScale = Math.max((await countInReach(sql, releaseId)) / OTHERS_LOOKED_AT, 1);
  const [looked] = await sql.query<Looked>(LOOKED, [
    ...[releaseId, known, isPushed, highestHash(scale), stuckAfterMinutes, silentAfterMinutes],
    ...[begun, counts.offered, highestHash(othersScale), scale],
  ]);
  if (looked === undefined) throw new Error(`Release ${releaseId} has no devices`);
  const { networks, others, ...silence } = looked;
  return {
    ...{ ...counts, ...silence, scale, others: { ...others, scale: othersScale } },
    networks: { ...networks, reverted: scaled(networks.reverted, scale) },
  };
}

/** Returns the networks of a signal that is counted over all devices, extrapolated from the sample. */
function scaled({ count, parts }: SignalNetworks, scale: number): SignalNetworks {
  const all = parts.map(({ hits, base }) => ({ hits: hits * scale, base: base * scale }));
  return { count, parts: all };
}

/** Reads the counts of a release over devices that were on record for `known` minutes before it. */
export async function countSignals(
  sql: Sql,
  releaseId: string,
  known: number,
  isPushed: boolean,
): Promise<CountedSignals> {
  const [counted] = await sql.query<CountedSignals>(COUNTED, [releaseId, known, isPushed]);
  if (counted === undefined) throw new Error(`Release ${releaseId} has no signals`);
  return counted;
}

/** How the signals of a release are counted; times in minutes. */
export type SignalTaking = {
  readonly known: number;
  /** Whether only devices reported with an API key count. */
  readonly isPushed: boolean;
  readonly stuckAfterMinutes: number;
  readonly silentAfterMinutes: number;
};

/** Returns how guards count signals; without guards, the defaults. */
export function signalTaking(guards: PlanGuards | null): SignalTaking {
  const given: PlanGuards = guards ?? USUAL_GUARDS;
  const { knownForMinutes: known, stuckAfterMinutes, silentAfterMinutes } = given;
  return { known, isPushed: given.source === 'push', stuckAfterMinutes, silentAfterMinutes };
}

/** Reads how the guards of a release's newest plan count its signals. */
export async function readSignalTaking(sql: Sql, releaseId: string): Promise<SignalTaking> {
  return signalTaking((await findPlan(sql, releaseId))?.state.guards ?? null);
}
