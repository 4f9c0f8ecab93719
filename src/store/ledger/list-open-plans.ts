// Statement that reads the plans under way of the releases of a list.

import type { ListedPlan } from '../../contract/console.ts';
import type { Sql } from './database.ts';
import { findOpenPlans } from './plan-rows.ts';
import { healthOf, type JudgedRelease } from './read-plan.ts';

/** Maximum number of plans of a list that are judged: each asks for sums, and channels have one or two. */
const JUDGED_MAX = 5;

/** Reads the plans of these releases that are not over yet, by the release's id. */
export async function listOpenPlans(
  sql: Sql,
  releases: readonly JudgedRelease[],
): Promise<ReadonlyMap<string, ListedPlan>> {
  const plans = new Map<string, ListedPlan>();
  const byId = new Map(releases.map((release) => [release.id, release]));
  const rows = await findOpenPlans(sql, [...byId.keys()]);
  for (const row of rows) {
    const { releaseId, state } = row;
    const release = plans.size < JUDGED_MAX ? byId.get(releaseId) : undefined;
    const health = release === undefined ? undefined : await healthOf(sql, release, row);
    plans.set(releaseId, { status: state.status, verdict: health?.verdict ?? null });
  }
  return plans;
}
