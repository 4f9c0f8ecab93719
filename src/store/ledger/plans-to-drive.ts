// Statements that give out the plans that have something to do, and move their time on.

import type { PlanTime } from '../../domain/rollout/plan-state.ts';
import type { PlanToDrive } from '../plan-ledger.ts';
import type { Sql } from './database.ts';

/** Counted milliseconds for which a plan is left to the node that took it, should that be dead. */
const TAKEN_FOR_MS = 3000;

/** Gives out plans that are due, then those whose guards were not checked for longest. */
export function plansToDrive(
  sql: Sql,
  checkMs: number,
  countMax: number,
): Promise<readonly PlanToDrive[]> {
  return sql.query<PlanToDrive>(
    `SELECT plan_id AS id, app, channel, canonical_version AS "canonicalVersion"
     FROM plans_to_drive($1::bigint, $2::bigint, $3::integer)`,
    [checkMs, TAKEN_FOR_MS, countMax],
  );
}

/** Moves the counted time on, for all nodes. */
export async function countPlanTime(sql: Sql): Promise<PlanTime> {
  const [time] = await sql.query<PlanTime>(
    'SELECT now_ms::float8 AS "nowMs", counted_ms::float8 AS "countedMs" FROM count_plan_time()',
  );
  if (time === undefined) throw new Error('The ledger has no clock of plans');
  return time;
}
