// Statements that find the plans that have something to do, and move their time on.

import type { PlanTime } from '../../domain/rollout/plan-state.ts';
import type { PlanToDrive } from '../../ports/plan-ledger.ts';
import type { Sql } from '../database.ts';

/** Lists plans that are due, those first that have waited longest. Nothing is locked. */
export function plansToDrive(
  sql: Sql,
  checkMs: number,
  countMax: number,
): Promise<readonly PlanToDrive[]> {
  return sql.query<PlanToDrive>(
    `SELECT plan.id, apps.ref AS app, channels.name AS channel,
       releases.canonical_version AS "canonicalVersion"
     FROM rollout_plans AS plan
     JOIN releases ON releases.id = plan.release_id
     JOIN channels ON channels.id = plan.channel_id
     JOIN apps ON apps.id = channels.app_id,
     plan_time() AS present
     WHERE plan.status = 'running' AND (
         plan.due_ms <= present.counted_ms
         OR plan.is_guarded AND coalesce(plan.checked_ms, 0) <= present.counted_ms - $1::bigint
         OR releases.status <> 'published'
       )
       OR plan.status = 'scheduled' AND (
         releases.status = 'published' AND coalesce(plan.start_at_ms, 0) <= present.now_ms
         OR releases.status IN ('rolled_back', 'deprecated')
       )
     ORDER BY coalesce(plan.checked_ms, 0), plan.id LIMIT $2`,
    [checkMs, countMax],
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
