// What people and keys do to a plan: they make it, hold it, let it go on, end its wait, or cancel it.

import { type Failure, fail, type Outcome } from '../../contract/failure.ts';
import type { PlanAction } from '../../contract/rollout-plan.ts';
import {
  ended,
  held,
  isOpen,
  type PlanDefinition,
  type PlannedRelease,
  type PlanState,
  type PlanTime,
} from './plan-state.ts';

/** Does what a person or a key asks for, or refuses it with the reason. */
export function steerPlan(
  state: PlanState,
  action: PlanAction,
  release: PlannedRelease,
  time: PlanTime,
): Outcome<PlanState, 'planRefused'> {
  if (!isOpen(state)) return refused(`The plan is ${state.status}`);
  switch (action) {
    case 'hold':
      return state.status === 'held' ? refused('The plan is held') : held(state, 'Held', time);
    case 'resume':
      return resumed(state, release, time);
    case 'advance':
      return advanced(state, release, time);
    case 'cancel':
      return ended(state, 'cancelled', 'Cancelled');
  }
}

/**
 * Returns a new plan of a release. On one that was never published it waits for that; on one that is paused
 * it is held, because a plan never un-pauses a release.
 */
export function newPlan(
  { steps, startAtMs, guards, onTrip }: PlanDefinition,
  release: PlannedRelease,
  time: PlanTime,
): Outcome<PlanState, 'planRefused'> {
  const refusal = refuseRelease(release);
  if (refusal !== undefined) return refusal;
  const isLater = startAtMs !== undefined && startAtMs > time.nowMs;
  const scheduled: PlanState = {
    ...{ status: 'scheduled', reason: null, step: null, dueMs: null, leftMs: null },
    steps: steps.map((step) => ({ ...step, startedAt: null, endedAt: null })),
    startAtMs: isLater ? startAtMs : null,
    raisedMs: time.countedMs,
    isWatching: false,
    ...{ guards, onTrip, watch: {}, checkedMs: null, tripped: [], silentShare: null },
  };
  if (!release.wasPublished)
    return { ...scheduled, reason: 'Waits for the release to be published' };
  if (release.status !== 'published') return held(scheduled, 'The release is paused', time);
  return isLater ? scheduled : running(scheduled, time.countedMs);
}

function resumed(
  state: PlanState,
  release: PlannedRelease,
  { nowMs, countedMs }: PlanTime,
): Outcome<PlanState, 'planRefused'> {
  if (state.status !== 'held') return refused(`The plan is ${state.status}, not held`);
  if (release.status !== 'published') {
    return refused('The release is paused: publish it before its plan goes on');
  }
  const resumable = { ...state, tripped: [], leftMs: null };
  const isLater = state.startAtMs !== null && state.startAtMs > nowMs;
  if (isLater) return { ...resumable, status: 'scheduled', reason: null };
  return running(resumable, countedMs + (state.leftMs ?? 0));
}

function advanced(
  state: PlanState,
  release: PlannedRelease,
  { countedMs }: PlanTime,
): Outcome<PlanState, 'planRefused'> {
  if (state.status === 'held') return refused('The plan is held: resume it first');
  if (!release.wasPublished) return refused('The release is not published yet');
  return running(state, countedMs);
}

/** Returns the plan as it waits until this counted time for its next step. */
export function running(state: PlanState, dueMs: number): PlanState {
  return { ...state, status: 'running', reason: null, startAtMs: null, dueMs };
}

function refuseRelease({ status }: PlannedRelease): Failure<'planRefused'> | undefined {
  if (status === 'rolled_back') return refused('A rolled-back release can have no plan');
  if (status === 'deprecated') return refused('A deprecated release can have no plan');
  return undefined;
}

function refused(message: string): Failure<'planRefused'> {
  return fail('planRefused', message);
}
