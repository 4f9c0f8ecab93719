// Statement that reads the plans under way of the releases of a list.

import type { ListedPlan } from '../../contract/console.ts';
import type { Sql } from '../database.ts';
import { findOpenPlans } from './plan-row.ts';
import { healthOf } from './read-plan.ts';

/** Maximum number of plans of a list that are judged: each asks for sums, and channels have one or two. */
const JUDGED_MAX = 5;

/** Reads the plans of these releases that are not over yet, by the release's id. */
export async function listOpenPlans(
  sql: Sql,
  releaseIds: readonly string[],
): Promise<ReadonlyMap<string, ListedPlan>> {
  const plans = new Map<string, ListedPlan>();
  const rows = await findOpenPlans(sql, releaseIds);
  for (const row of rows) {
    const { releaseId, state } = row;
    const health = plans.size < JUDGED_MAX ? await healthOf(sql, releaseId, row) : undefined;
    plans.set(releaseId, { status: state.status, verdict: health?.verdict ?? null });
  }
  return plans;
}
