// Statement that adds up what check-ins tell of a release. Migration 000025 defines the rows that it reads.

import type { PlanState } from '../../domain/rollout/plan-state.ts';
import type { SignalCounts, SilentOthers } from '../../domain/rollout/signal-counts.ts';
import { NO_SIGNALS } from '../../domain/rollout/signal-counts.ts';
import type { Sql } from '../database.ts';
import { countInReach } from './count-in-reach.ts';
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
type Looked = Pick<SignalCounts, 'stuck' | 'stuckBase' | 'silent' | 'silentBase'> & {
  /** Number of the step in which most of the base was reached; 0 before the first, null without a base. */
  readonly step: number | null;
};
type Others = Omit<SilentOthers, 'scale'>;

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
  SELECT count(*) FILTER (WHERE ${SIGNAL_CONDITIONS.stuckBase})::float8 AS "stuckBase",
    count(*) FILTER (WHERE ${SIGNAL_CONDITIONS.stuck})::float8 AS stuck,
    count(*) FILTER (WHERE ${SIGNAL_CONDITIONS.silentBase})::float8 AS "silentBase",
    count(*) FILTER (WHERE ${SIGNAL_CONDITIONS.silent})::float8 AS silent,
    mode() WITHIN GROUP (ORDER BY width_bucket(least(offered_at, installed_at), $7::timestamptz[]))
      FILTER (WHERE ${SIGNAL_CONDITIONS.silentBase})::integer AS step
  FROM ${REACHED_SAMPLE}, ${signalTimes('$5', '$6')}`;

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
 * within a percent point, in 19 of 20 cases, where all that were looked at are such. Those count that were seen
 * since the step began in which most of the base was reached: they had the same time to fall silent.
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
    begun,
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
  const { step: _, ...silence } = looked;
  const { networks } = NO_SIGNALS;
  return { ...counts, ...silence, scale, others: { ...others, scale: othersScale }, networks };
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
