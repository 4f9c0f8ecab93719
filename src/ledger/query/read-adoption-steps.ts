// How many devices an app had on which version, over time, in steps for a chart.

import type { AdoptionStep } from '../../contract/resource.ts';
import type { AdoptionStepPoint } from '../../ports/console-ledger.ts';
import type { Sql } from '../database.ts';
import { isoText } from './iso-text.ts';
import { storableText } from './storable-text.ts';

const VERSIONS_SHOWN_MAX = 20;

/**
 * Hours cannot be added up: a device counts in each of its hours. The mean over a step's hours keeps the
 * shares of the versions right, and their sum is that of an hour.
 */
const POINTS = `
  WITH hourly AS MATERIALIZED (
    SELECT hour, version, sum(devices) AS devices FROM fleet_hours
    WHERE app_id = $1 AND hour >= $2::timestamptz AND devices > 0
      AND ($4::text IS NULL OR channel = $4)
    GROUP BY hour, version
  ), shown AS MATERIALIZED (
    SELECT version FROM hourly GROUP BY version
    ORDER BY sum(devices) DESC, version LIMIT ${VERSIONS_SHOWN_MAX}
  ), stepped AS (
    SELECT date_trunc($3::text, hour, 'UTC') AS step, shown.version, sum(devices) AS devices
    FROM hourly LEFT JOIN shown USING (version) GROUP BY 1, 2
  ), hours AS (
    SELECT date_trunc($3::text, hour, 'UTC') AS step, count(DISTINCT hour) AS hours
    FROM hourly GROUP BY 1
  )
  SELECT ${isoText('stepped.step')} AS at, stepped.version,
    ceil(stepped.devices / hours.hours)::float8 AS devices
  FROM stepped JOIN hours USING (step) ORDER BY stepped.step, stepped.version`;

/** One consistent read of the hours that begin at `since` or later. */
export function readAdoptionSteps(
  sql: Sql,
  appId: string,
  filter: {
    readonly since: string;
    readonly step: AdoptionStep;
    readonly channel: string | undefined;
  },
): Promise<readonly AdoptionStepPoint[]> {
  const { since, step, channel } = filter;
  const only = channel === undefined ? null : storableText(channel);
  return sql.query<AdoptionStepPoint>(POINTS, [appId, since, step, only]);
}
