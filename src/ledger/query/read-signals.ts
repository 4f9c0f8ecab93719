// Statement that adds up what check-ins tell of a release. Migration 000025 defines the rows that it reads.

import type { PlanGuards } from '../../contract/rollout-plan.ts';
import { type SignalCounts, USUAL_GUARDS } from '../../domain/rollout/judge-health.ts';
import type { Sql } from '../database.ts';

type Row = Omit<SignalCounts, 'others'> & {
  readonly others: number;
  readonly othersSilent: number;
};

// Devices of a minute that has begun long enough ago are in a base, and those of one that has ended long
// enough ago are silent: so no count is above its base, and a base is early by a minute at most.
const SIGNALS = `
  WITH counted AS MATERIALIZED (
    SELECT kind, age, at, sum(devices) AS devices FROM release_signals
    WHERE release_id = $1 AND CASE WHEN $5 THEN pushed ELSE known END >= $2
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
      sum(devices) FILTER (WHERE kind = 'reached' AND at <= silent_before) AS silent_base,
      sum(devices) FILTER (WHERE kind = 'other') AS others,
      sum(devices) FILTER (WHERE kind = 'other' AND at + interval '1 minute' <= silent_before)
        AS others_silent
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
    coalesce(stuck_base, 0)::float8 AS "stuckBase", coalesce(silent_base, 0)::float8 AS "silentBase",
    coalesce(others, 0)::float8 AS others, coalesce(others_silent, 0)::float8 AS "othersSilent"
  FROM summed, failures`;

/**
 * Adds up the signals of a release as guards ask for them. Failures of one client address count up to three,
 * or 1 % of the devices that were offered the release: of an address with more, nobody knows how many of its
 * devices are real. Those of reports with a key are not bounded so.
 */
export async function readSignals(
  sql: Sql,
  releaseId: string,
  guards: PlanGuards | null,
  knownForMinutes?: number,
): Promise<SignalCounts> {
  const given: PlanGuards = guards ?? USUAL_GUARDS;
  const [row] = await sql.query<Row>(SIGNALS, [
    releaseId,
    knownForMinutes ?? given.knownForMinutes,
    given.stuckAfterMinutes,
    given.silentAfterMinutes,
    given.source === 'push',
  ]);
  if (row === undefined) throw new Error(`Release ${releaseId} has no signals`);
  const { others, othersSilent, ...counts } = row;
  return { ...counts, others: { devices: others, silent: othersSilent } };
}
