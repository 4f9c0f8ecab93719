// Statements that read a release's plan and its health.

import { fail, isFailure, type Outcome, type UnknownRelease } from '../../contract/failure.ts';
import type { Health, RolloutPlan } from '../../contract/rollout-plan.ts';
import { judgeHealth } from '../../domain/rollout/judge-health.ts';
import { isOpen } from '../../domain/rollout/plan-state.ts';
import type { Reach } from '../reach.ts';
import type { ReleaseName } from '../release-name.ts';
import type { Sql } from './database.ts';
import { findPlan, type PlanRow, readPlanTime, shownPlan } from './plan-rows.ts';
import { type FoundPlannedRelease, findReleaseByName } from './planned-release.ts';
import { readSignals } from './read-signals.ts';

/** What the health of a release asks of it. */
export type JudgedRelease = Pick<FoundPlannedRelease, 'id' | 'status' | 'rolloutPct'>;

/** Reads the newest plan of a release with the health that its guards see. */
export async function readPlan(
  sql: Sql,
  reach: Reach,
  name: ReleaseName,
): Promise<
  Outcome<{ readonly plan: RolloutPlan; readonly health: Health }, UnknownRelease | 'unknownPlan'>
> {
  const found = await findReleaseByName(sql, reach, name);
  if (isFailure(found)) return found;
  const { release, ...place } = found;
  const row = await findPlan(sql, release.id);
  if (row === undefined) return fail('unknownPlan');
  const plan = shownPlan(row, { ...place, version: release.version }, await readPlanTime(sql));
  return { plan, health: await healthOf(sql, release, row) };
}

/** Reads the health of a release, with a plan or without. */
export async function readHealth(
  sql: Sql,
  reach: Reach,
  name: ReleaseName,
  knownForMinutes?: number,
): Promise<Outcome<Health, UnknownRelease>> {
  const found = await findReleaseByName(sql, reach, name);
  if (isFailure(found)) return found;
  const { release } = found;
  return healthOf(sql, release, await findPlan(sql, release.id), knownForMinutes);
}

/**
 * Judges the release of a plan, or one without. A plan that was cancelled or is over says no more what is too
 * much of a signal than it did.
 */
export async function healthOf(
  sql: Sql,
  { id, status, rolloutPct }: JudgedRelease,
  row: PlanRow | undefined,
  knownForMinutes?: number,
): Promise<Health> {
  const state = row?.state;
  const guards = state?.guards ?? null;
  const counts = await readSignals(sql, id, state, knownForMinutes);
  const tripped = state !== undefined && isOpen(state) ? state.tripped : [];
  const silentOthers = state?.silentOthers ?? null;
  const isOffered = status === 'published' && rolloutPct > 0;
  return judgeHealth(counts, { guards, tripped, silentOthers, isOffered }).health;
}
