// Statement that adds up what check-ins tell of a release. Migration 000025 defines the rows that it reads.

import type { PlanGuards } from '../../contract/rollout-plan.ts';
import { type SignalCounts, USUAL_GUARDS } from '../../domain/rollout/judge-health.ts';
import type { Sql } from '../database.ts';

type Counted = Pick<SignalCounts, 'offered' | 'installed' | 'reverted' | 'failed'> & {
  /** Devices that the release reached, and those of its channel and its followers. */
  readonly reached: number;
  readonly inReach: number;
};
type Looked = Pick<SignalCounts, 'stuck' | 'stuckBase' | 'silent' | 'silentBase'>;
type Others = SignalCounts['others'];

/** Number of devices that are looked at of those that a release reached. */
const REACHED_LOOKED_AT = 10_000;
/** Number of devices that are looked at of a channel and its followers: those that never got the release. */
const OTHERS_LOOKED_AT = 4000;
const HASHES = 2 ** 32;

const COUNTED = `
  WITH summed AS MATERIALIZED (
    SELECT coalesce(sum(devices) FILTER (WHERE kind = 'offered'), 0) AS offered,
      coalesce(sum(devices) FILTER (WHERE kind = 'installed'), 0) AS installed,
      coalesce(sum(devices) FILTER (WHERE kind = 'reverted'), 0) AS reverted,
      coalesce(sum(devices) FILTER (WHERE kind = 'reached'), 0) AS reached
    FROM release_signals
    WHERE release_id = $1 AND CASE WHEN $3 THEN pushed ELSE known END >= $2
      AND EXISTS (SELECT FROM releases WHERE id = $1 AND is_watched)
  )
  SELECT offered::float8, installed::float8, reverted::float8, reached::float8, coalesce((
    SELECT sum(CASE WHEN network IS NULL THEN devices
      ELSE least(devices, greatest(3, floor(offered / 100))) END)
    FROM (
      SELECT network, count(*) AS devices FROM release_failures
      WHERE release_id = $1 AND is_offered AND CASE WHEN $3 THEN pushed ELSE known END >= $2
      GROUP BY network
    ) AS by_network
  ), 0)::float8 AS failed, (
    SELECT coalesce(sum(fleet_counts.devices), 0) FROM releases
    JOIN channels AS own ON own.id = releases.channel_id
    JOIN channels AS place ON place.id = own.id OR place.follows = own.id
    JOIN fleet_counts ON fleet_counts.app_id = place.app_id AND fleet_counts.channel = place.name
    WHERE releases.id = $1
  )::float8 AS "inReach"
  FROM summed`;

// The index has the devices of each edge in the order of a hash of their ids, so that about as many are read
// as are to be looked at, the same ones each time: those up to a hash. A device that was reported long enough
// before the release was known for at least as long.
const LOOKED = `
  SELECT count(*) FILTER (WHERE offered_at <= stuck_before)::float8 AS "stuckBase",
    count(*) FILTER (
      WHERE installed_at IS NULL AND last_seen - offered_at > $3::int * interval '1 minute'
    )::float8 AS stuck,
    count(*) FILTER (WHERE least(offered_at, installed_at) <= silent_before)::float8 AS "silentBase",
    count(*) FILTER (
      WHERE least(offered_at, installed_at) <= silent_before AND last_seen <= silent_before
    )::float8 AS silent
  FROM (
    SELECT reached.offered_at, reached.installed_at, devices.last_seen
    FROM unnest(signal_edges()) AS edge
    CROSS JOIN LATERAL (
      SELECT * FROM release_devices
      WHERE release_id = $1 AND known = edge AND hashtext(device_id) <= $6::integer OFFSET 0
    ) AS reached
    CROSS JOIN LATERAL (
      SELECT last_seen FROM devices
      WHERE app_id = reached.app_id AND device_id = reached.device_id OFFSET 0
    ) AS devices
    WHERE edge >= $2 AND (NOT $5 OR reached.pushed >= $2)
      AND EXISTS (SELECT FROM releases WHERE id = $1 AND is_watched)
  ) AS looked_at, (
    SELECT now() - $3::int * interval '1 minute' AS stuck_before,
      now() - $4::int * interval '1 minute' AS silent_before
  ) AS present`;

// As above: see sample-devices.ts. Here and there, OFFSET 0 keeps the order in which tables are looked up: a
// plan for the whole of a large fleet, most of which has been reached, would read all of it.
const OTHERS = `
  SELECT count(*)::float8 AS devices,
    count(*) FILTER (WHERE last_seen <= now() - $3::int * interval '1 minute')::float8 AS silent
  FROM releases JOIN channels AS own ON own.id = releases.channel_id
  JOIN channels AS place ON place.id = own.id OR place.follows = own.id
  CROSS JOIN LATERAL (
    SELECT app_id, device_id, last_seen FROM devices
    WHERE device_place(app_id, channel) = device_place(place.app_id, place.name)
      AND app_id = place.app_id AND channel = place.name AND hashtext(device_id) <= $5::integer
      AND last_seen >= releases.published_at
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
 * channel's other devices are counted over about 4000 of its devices, and scaled: a share of 10 % silent ones
 * is right within a percent point, in 19 of 20 cases, where all that were looked at are such.
 */
export async function readSignals(
  sql: Sql,
  releaseId: string,
  guards: PlanGuards | null,
  knownForMinutes?: number,
): Promise<SignalCounts> {
  const given: PlanGuards = guards ?? USUAL_GUARDS;
  const known = knownForMinutes ?? given.knownForMinutes;
  const isPushed = given.source === 'push';
  const { stuckAfterMinutes, silentAfterMinutes } = given;
  const [counted] = await sql.query<Counted>(COUNTED, [releaseId, known, isPushed]);
  if (counted === undefined) throw new Error(`Release ${releaseId} has no signals`);
  const { reached, inReach, ...counts } = counted;
  const scale = Math.max(reached / REACHED_LOOKED_AT, 1);
  const [looked] = await sql.query<Looked>(LOOKED, [
    ...[releaseId, known, stuckAfterMinutes, silentAfterMinutes, isPushed, highestHash(scale)],
  ]);
  const othersScale = Math.max(inReach / OTHERS_LOOKED_AT, 1);
  const [others] = await sql.query<Others>(OTHERS, [
    ...[releaseId, known, silentAfterMinutes, isPushed, highestHash(othersScale)],
  ]);
  if (looked === undefined || others === undefined) {
    throw new Error(`Release ${releaseId} has no devices`);
  }
  const [devices, silent] = [others.devices, others.silent].map((count) =>
    Math.round(count * othersScale),
  ) as [number, number];
  return { ...counts, ...looked, scale, others: { devices, silent } };
}

/** Returns the hash up to which one of so many devices lies. */
function highestHash(scale: number): number {
  return Math.min(Math.floor(HASHES / scale) - HASHES / 2, HASHES / 2 - 1);
}
