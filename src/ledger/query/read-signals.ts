// Statement that adds up what check-ins tell of a release. Migration 000025 defines the rows that it reads.

import type { PlanGuards } from '../../contract/rollout-plan.ts';
import { type SignalCounts, USUAL_GUARDS } from '../../domain/rollout/judge-health.ts';
import type { Sql } from '../database.ts';

type Counted = Pick<SignalCounts, 'offered' | 'installed' | 'reverted' | 'failed'> & {
  readonly reached: number;
};
type Looked = Pick<SignalCounts, 'stuck' | 'stuckBase' | 'silent' | 'silentBase'>;
type Others = SignalCounts['others'] & { readonly looked: number; readonly total: number };

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
    SELECT sum(CASE WHEN network IS NULL THEN devices ELSE least(devices, greatest(3, floor(offered / 100))) END)
    FROM (
      SELECT network, count(*) AS devices FROM release_failures
      WHERE release_id = $1 AND is_offered AND CASE WHEN $3 THEN pushed ELSE known END >= $2
      GROUP BY network
    ) AS by_network
  ), 0)::float8 AS failed
  FROM summed`;

// The index has the devices of each edge in the order of a hash of their ids, so that about as many are read as
// are to be looked at, the same ones each time: those up to a hash. A device that would be known long enough by
// its reports is known at least as long.
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

// Devices in the order of a hash of their ids (see sample-devices.ts), up to the hash below which about as
// many lie as are to be looked at: the same ones each time.
const OTHERS = `
  WITH release AS MATERIALIZED (
    SELECT releases.id, releases.published_at, channels.app_id,
      ARRAY (SELECT name FROM channels AS place WHERE place.id = channels.id OR place.follows = channels.id)
        AS names
    FROM releases JOIN channels ON channels.id = releases.channel_id WHERE releases.id = $1
  ), fleet AS MATERIALIZED (
    SELECT coalesce(sum(fleet_counts.devices), 0) AS total FROM fleet_counts, release
    WHERE fleet_counts.app_id = release.app_id AND fleet_counts.channel = ANY (release.names)
  )
  SELECT count(*)::float8 AS looked, (SELECT total FROM fleet)::float8 AS total,
    count(*) FILTER (WHERE is_other)::float8 AS devices,
    count(*) FILTER (WHERE is_other AND last_seen <= now() - $3::int * interval '1 minute')::float8 AS silent
  FROM (
    SELECT devices.last_seen, devices.last_seen >= release.published_at
      AND CASE WHEN $4 THEN devices.first_reported ELSE devices.first_seen END
        <= release.published_at - $2::int * interval '1 minute'
      AND NOT EXISTS (
        SELECT FROM release_devices AS reached WHERE reached.app_id = devices.app_id
          AND reached.device_id = devices.device_id AND reached.release_id = release.id
      ) AS is_other
    FROM release JOIN devices
      ON device_place(devices.app_id, devices.channel) = ANY (
        ARRAY (SELECT device_place(release.app_id, name) FROM unnest(release.names) AS name)
      )
      AND devices.app_id = release.app_id AND devices.channel = ANY (release.names)
      AND hashtext(devices.device_id) <= least(
        -2147483648 + ${HASHES} * $5::float8 / greatest((SELECT total FROM fleet), 1), 2147483647
      )::integer
  ) AS looked_at`;

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
  const { reached, ...counts } = counted;
  const scale = Math.max(reached / REACHED_LOOKED_AT, 1);
  const [looked] = await sql.query<Looked>(LOOKED, [
    ...[releaseId, known, stuckAfterMinutes, silentAfterMinutes, isPushed],
    Math.min(Math.floor(HASHES / scale) - HASHES / 2, HASHES / 2 - 1),
  ]);
  const [others] = await sql.query<Others>(OTHERS, [
    ...[releaseId, known, silentAfterMinutes, isPushed, OTHERS_LOOKED_AT],
  ]);
  if (looked === undefined || others === undefined) {
    throw new Error(`Release ${releaseId} has no devices`);
  }
  return { ...counts, ...looked, scale, others: scaled(others) };
}

function scaled({ devices, silent, looked, total }: Others): SignalCounts['others'] {
  const factor = looked === 0 ? 1 : Math.max(total / looked, 1);
  return { devices: Math.round(devices * factor), silent: Math.round(silent * factor) };
}
