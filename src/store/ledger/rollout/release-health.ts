// Health of releases, with or without a plan, by the signals of their devices.

import { SIGNALS } from '../../../contract/choice.ts';
import { isFailure, type Outcome } from '../../../contract/failure.ts';
import type { Health } from '../../../contract/rollout-plan.ts';
import { judgeHealth } from '../../../domain/rollout/judge-health.ts';
import { isOpen } from '../../../domain/rollout/plan-state.ts';
import type { ReleaseName, TenantScope } from '../../ledger-terms.ts';
import {
  type FoundPlannedRelease,
  findPlan,
  findReleaseByName,
  type PlanRow,
} from '../change/plan-rows.ts';
import { compileNothing, type Sql } from '../database/database.ts';
import { readSignals } from './rollout-signals.ts';

/** Fields of a release that its health depends on. */
export type JudgedRelease = Pick<FoundPlannedRelease, 'id' | 'status' | 'rolloutPct'>;

/**
 * Reads the health of a release by the guards of its newest plan, or the default guards. `knownForMinutes`
 * replaces the minimum time for which devices must have been on record.
 */
export async function readHealth(
  sql: Sql,
  scope: TenantScope,
  name: ReleaseName,
  knownForMinutes?: number,
): Promise<Outcome<Health>> {
  const found = await findReleaseByName(sql, scope, name);
  if (isFailure(found)) return found;
  const { release } = found;
  return healthOf(sql, release, await findPlan(sql, release.id), knownForMinutes);
}

/**
 * Judges the health of a release, with or without a plan. The limits of a closed plan still count, but not
 * its tripped guards.
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

/**
 * Names the signals of an unhealthy release that exceed the limits of its plan; undefined if it is not
 * unhealthy. Reads no signals without guards: only a limit can make a release unhealthy, and reading the
 * signals of a million devices takes long under a channel's lock.
 */
export async function exceededLimits(
  sql: Sql,
  release: JudgedRelease,
  row: PlanRow | undefined,
): Promise<string | undefined> {
  if (row === undefined || row.state.guards === null) return undefined;
  await compileNothing(sql);
  const health = await healthOf(sql, release, row);
  return health.verdict === 'unhealthy' ? limitsText(health) : undefined;
}

/** Names each signal above its limit, with its numbers. */
function limitsText({ rates }: Health): string {
  return SIGNALS.flatMap((signal) => {
    const { percent, low, limit, tripped } = rates[signal];
    const isExceeded = limit !== null && (tripped || low > limit);
    return isExceeded ? [`${signal} ${percent} % of devices, limit ${limit} %`] : [];
  }).join(', ');
}
