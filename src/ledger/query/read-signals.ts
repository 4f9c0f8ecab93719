// Statement that adds up what check-ins tell of a release. Migration 000025 defines the rows that it reads.

import type { PlanGuards } from '../../contract/rollout-plan.ts';
import { type SignalCounts, USUAL_GUARDS } from '../../domain/rollout/judge-health.ts';
import type { Sql } from '../database.ts';

type Row = Omit<SignalCounts, 'others'>;
type Others = SignalCounts['others'] & { readonly looked: number; readonly total: number };

/** Number of devices that are looked at of a channel and its followers: those that never got the release. */
const OTHERS_LOOKED_AT = 4000;
const HASHES = 2 ** 32;

// Devices of a minute that has begun long enough ago are in a base, and those of one that has ended long
// enough ago are silent: so no count is above its base, and a base is early by a minute at most.
const SIGNALS = `
  WITH counted AS MATERIALIZED (
    SELECT kind, age, at, sum(devices) AS devices FROM release_signals
    WHERE release_id = $1 AND CASE WHEN $5 THEN pushed ELSE known END >= $2
      AND EXISTS (SELECT FROM releases WHERE id = $1 AND is_watched)
    GROUP BY kind, age, at
  ), present AS (
    SELECT now() - $3::int * interval '1 minute' AS stuck_before,
      now() - $4::int * interval '1 minute' AS silent_before
  ), summed AS (
    SELECT
      sum(devices) FILTER (WHERE kind = 'offered') AS offered,
      sum(devices) FILTER (WHERE kind = 'installed') AS installed,
      sum(devices) FILTER (WHERE kind = 'reverted') AS reverted,
      sum(devices) FILTER (WHERE kind = 'waiting' AND age >= $3::int) AS stuck,
      sum(devices) FILTER (WHERE kind = 'seen' AND at + interval '1 minute' <= silent_before) AS silent,
      sum(devices) FILTER (WHERE kind = 'offered' AND at <= stuck_before) AS stuck_base,
      sum(devices) FILTER (WHERE kind = 'reached' AND at <= silent_before) AS silent_base
    FROM counted, present
  ), failures AS (
    SELECT sum(CASE WHEN network IS NULL THEN devices
      ELSE least(devices, greatest(3, floor(coalesce((SELECT offered FROM summed), 0) / 100))) END) AS failed
    FROM (
      SELECT network, count(*) AS devices FROM release_failures
      WHERE release_id = $1 AND is_offered AND CASE WHEN $5 THEN pushed ELSE known END >= $2
      GROUP BY network
    ) AS by_network
  )
  SELECT coalesce(offered, 0)::float8 AS offered, coalesce(installed, 0)::float8 AS installed,
    coalesce(failed, 0)::float8 AS failed, coalesce(reverted, 0)::float8 AS reverted,
    coalesce(stuck, 0)::float8 AS stuck, coalesce(silent, 0)::float8 AS silent,
    coalesce(stuck_base, 0)::float8 AS "stuckBase", coalesce(silent_base, 0)::float8 AS "silentBase"
  FROM summed, failures`;

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
 * devices are real. Those of reports with a key are not bounded so. The channel's other devices are counted
 * over about 4000 of its devices, and scaled: a share of 10 % silent ones is right within a percent
 * point, in 19 of 20 cases, where all that were looked at are such.
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
  const [row] = await sql.query<Row>(SIGNALS, [
    releaseId,
    known,
    ...[stuckAfterMinutes, silentAfterMinutes],
    isPushed,
  ]);
  const [others] = await sql.query<Others>(OTHERS, [
    releaseId,
    known,
    silentAfterMinutes,
    isPushed,
    OTHERS_LOOKED_AT,
  ]);
  if (row === undefined || others === undefined) {
    throw new Error(`Release ${releaseId} has no signals`);
  }
  return { ...row, others: scaled(others) };
}

function scaled({ devices, silent, looked, total }: Others): SignalCounts['others'] {
  const factor = looked === 0 ? 1 : Math.max(total / looked, 1);
  return { devices: Math.round(devices * factor), silent: Math.round(silent * factor) };
}
