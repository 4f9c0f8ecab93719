// Transaction that holds, resumes, advances or cancels a roll-out plan.

import {
  fail,
  isFailure,
  type LostRight,
  type Outcome,
  type UnknownRelease,
} from '../../contract/failure.ts';
import type { PlanAction, RolloutPlan } from '../../contract/rollout-plan.ts';
import { judgeHealth } from '../../domain/rollout/judge-health.ts';
import type { PlannedRelease } from '../../domain/rollout/plan-state.ts';
import type { SignalCounts } from '../../domain/rollout/signal-counts.ts';
import { steerPlan as steered } from '../../domain/rollout/steer-plan.ts';
import type { Actor } from '../ledger-terms.ts';
import type { Reach } from '../reach.ts';
import type { ReleaseName } from '../release-name.ts';
import { atomically } from './atomically.ts';
import type { Database, Sql } from './database.ts';
import { placeOf } from './follow-plan.ts';
import { lockChannel } from './lock-channel.ts';
import { findPlan, type PlanRow, readPlanTime, shownPlan, storePlan } from './plan-rows.ts';
import { findPlannedRelease, findReleaseByName } from './planned-release.ts';
import { readSignals } from './read-signals.ts';
import { withoutCompiling } from './without-compiling.ts';

/**
 * Stores what becomes of the newest plan of a release, and the audit entry. It locks the channel as every
 * change of a plan does, so that it is ordered against the plan's own steps. What the guards find is read
 * before the lock, so that no first offer waits for it.
 */
export async function steerPlan(
  database: Database,
  reach: Reach,
  name: ReleaseName,
  action: PlanAction,
  actor: Actor,
  reason?: string,
): Promise<Outcome<RolloutPlan, UnknownRelease | 'unknownPlan' | 'planRefused' | LostRight>> {
  const counts =
    action === 'advance'
      ? await withoutCompiling(database, (sql) => readCounts(sql, reach, name))
      : undefined;
  return atomically<RolloutPlan, UnknownRelease | 'unknownPlan' | 'planRefused'>(
    database,
    actor,
    async (sql) => {
      const channel = await lockChannel(sql, reach, name.app, name.channel);
      if (isFailure(channel)) return channel;
      const release = await findPlannedRelease(sql, channel.id, name.canonicalVersion, true);
      if (isFailure(release)) return release;
      const row = await findPlan(sql, release.id);
      if (row === undefined) return fail('unknownPlan');
      const time = await readPlanTime(sql);
      const state = steered(row.state, action, release, time, judged(row, release, counts));
      if (isFailure(state)) return state;
      const place = placeOf(channel, release.version);
      const asked = { action: `plan.${action}`, reason } as const;
      return shownPlan(await storePlan(sql, row, place, state, asked), place, time);
    },
  );
}

async function readCounts(
  sql: Sql,
  reach: Reach,
  name: ReleaseName,
): Promise<SignalCounts | undefined> {
  const found = await findReleaseByName(sql, reach, name);
  if (isFailure(found)) return undefined;
  const row = await findPlan(sql, found.release.id);
  const isGuarded = row !== undefined && row.state.guards !== null;
  return isGuarded ? readSignals(sql, found.release.id, row.state) : undefined;
}

function judged(
  { state: { guards, tripped, silentOthers } }: PlanRow,
  { status }: PlannedRelease,
  counts: SignalCounts | undefined,
) {
  if (counts === undefined) return undefined;
  const isOffered = status === 'published';
  return judgeHealth(counts, { guards, tripped, silentOthers, isOffered });
}
