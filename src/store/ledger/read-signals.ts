// Statement that adds up what check-ins tell of a release. Migration 000025 defines the rows that it reads.

import type { PlanState } from '../../domain/rollout/plan-state.ts';
import type {
  SignalCounts,
  SignalNetworks,
  SilentOthers,
} from '../../domain/rollout/signal-counts.ts';
import { countInReach } from './count-in-reach.ts';
import type { Sql } from './database.ts';
import {
  highestHash,
  IS_KNOWN,
  OTHERS_LOOKED_AT,
  REACHED_SAMPLE,
  reachedScale,
  SIGNAL_CONDITIONS,
  signalTimes,
} from './signal-conditions.ts';
import { signalTaking } from './signal-taking.ts';

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
