// Statements that let a plan follow what somebody else does to its release, in the transaction of that
// change.

import {
  firstRollout,
  followRelease,
  followWithdrawal,
} from '../../domain/rollout/follow-release.ts';
import type { PlannedRelease } from '../../domain/rollout/plan-state.ts';
import type { ActorSql } from './atomically.ts';
import type { LockedChannel } from './lock-channel.ts';
import { lockOpenPlan, type PlanPlace, readPlanTime, storePlan } from './plan-rows.ts';

/** Release of a locked channel whose plan follows it. */
export type FollowedRelease = { readonly id: string; readonly version: string };

/**
 * Stores what becomes of the release's plan, and returns the roll-out that the release gets: see
 * `firstRollout`. What a plan itself does is none of it.
 */
export async function followPlan(
  sql: ActorSql,
  channel: LockedChannel,
  release: FollowedRelease,
  before: PlannedRelease,
  after: PlannedRelease,
): Promise<number> {
  if (sql.actor.kind === 'plan') return after.rolloutPct;
  const plan = await lockOpenPlan(sql, release.id);
  if (plan === undefined) return after.rolloutPct;
  const rolloutPct = firstRollout(plan.state, before, after);
  const time = await readPlanTime(sql);
  const state = followRelease(plan.state, before, { ...after, rolloutPct }, time);
  await storePlan(sql, plan, placeOf(channel, release.version), state);
  return rolloutPct;
}

/** Cancels the plan of a release that is withdrawn. */
export async function endPlan(
  sql: ActorSql,
  channel: LockedChannel,
  release: FollowedRelease,
): Promise<void> {
  const plan = await lockOpenPlan(sql, release.id);
  if (plan === undefined) return;
  await storePlan(sql, plan, placeOf(channel, release.version), followWithdrawal(plan.state));
}

/** Returns the place of a release of a locked channel. */
export function placeOf({ app, name }: LockedChannel, version: string): PlanPlace {
  return { app, channel: name, version };
}
