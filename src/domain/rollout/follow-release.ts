// Changes of a plan when somebody changes how its release is served, stored in the same transaction.

import {
  ended,
  held,
  isOpen,
  type PlannedRelease,
  type PlanState,
  type PlanTime,
} from './plan-state.ts';
import { noteRaise } from './reach-steps.ts';

/**
 * Returns the plan after a change of its release: pausing the release holds the plan, rolling back or
 * deprecating cancels it. Publishing again does not resume it. A raise marks the steps up to the new rollout
 * as reached, and the hold of the last one begins.
 */
export function followRelease(
  state: PlanState,
  before: PlannedRelease,
  after: PlannedRelease,
  time: PlanTime,
): PlanState {
  if (!isOpen(state)) return state;
  if (after.status === 'rolled_back')
    return ended(state, 'cancelled', 'The release was rolled back');
  if (after.status === 'deprecated') return ended(state, 'cancelled', 'The release was deprecated');
  const isRaised = after.rolloutPct > before.rolloutPct;
  const raised = isRaised ? noteRaise(state, after.rolloutPct, time) : state;
  const isPaused = after.status === 'paused' && after.wasPublished && state.status !== 'held';
  return isPaused ? held(raised, 'The release was paused', time) : raised;
}

/** Returns the plan of a withdrawn release. */
export function followWithdrawal(state: PlanState): PlanState {
  return isOpen(state) ? ended(state, 'cancelled', 'The release was withdrawn') : state;
}

/**
 * Returns the rollout at which a release is first published: 0 % under a plan, whatever the call says, so
 * that the plan's first step is the first that devices get.
 */
export function firstRollout(
  state: PlanState | undefined,
  before: PlannedRelease,
  after: PlannedRelease,
): number {
  const isFirst = !before.wasPublished && after.status === 'published';
  const isPlanned = state !== undefined && isOpen(state) && state.step === null;
  return isFirst && isPlanned ? 0 : after.rolloutPct;
}
