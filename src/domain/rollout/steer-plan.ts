// What people and keys do to a plan: create, hold, resume, advance or cancel it.

import { type Failure, fail, type Outcome } from '../../contract/failure.ts';
import { BARE_REASON, type PlanAction } from '../../contract/rollout-plan.ts';
import type { JudgedHealth } from './judge-health.ts';
import {
  ended,
  held,
  isOpen,
  openingAt,
  type PlanDefinition,
  type PlannedRelease,
  type PlanState,
  type PlanTime,
  UNWATCHED,
  waitless,
} from './plan-state.ts';
import { reachSteps } from './reach-steps.ts';

/**
 * Performs an action, or refuses it with the reason. `judged` is the present judgement of the plan's guards,
 * if there is one.
 */
export function steerPlan(
  state: PlanState,
  action: PlanAction,
  release: PlannedRelease,
  time: PlanTime,
  judged?: JudgedHealth,
): Outcome<PlanState> {
  if (!isOpen(state)) return refused(`The plan is ${state.status}`);
  switch (action) {
    case 'hold':
      return state.status === 'held'
        ? refused('The plan is held')
        : held(state, BARE_REASON.hold, time);
    case 'resume':
      return resumed(state, release, time);
    case 'advance':
      return advanced(state, release, time, judged);
    case 'cancel':
      return ended(state, 'cancelled', BARE_REASON.cancel);
  }
}

/**
 * Returns a new plan. It waits for a release that was never published; it is held if the release is paused,
 * because a plan never un-pauses a release.
 */
export function newPlan(
  { steps, startAtMs, onBlind = 'hold', ...definition }: PlanDefinition,
  release: PlannedRelease,
  time: PlanTime,
): Outcome<PlanState> {
  const refusal = refuseRelease(release);
  if (refusal !== undefined) return refusal;
  const isLater = startAtMs !== undefined && startAtMs > time.nowMs;
  const scheduled: PlanState = {
    ...{ status: 'scheduled', reason: null, step: null, dueMs: null, leftMs: null },
    steps: steps.map((step) => ({ ...step, startedAt: null, endedAt: null })),
    startAtMs: isLater ? startAtMs : null,
    raisedMs: time.countedMs,
    ...{ isReached: false, waitingFor: null, blindSinceMs: null, isPushed: false },
    ...{ ...definition, onBlind, watch: {}, checkedMs: null, tripped: [], silentOthers: null },
  };
  if (!release.wasPublished)
    return { ...scheduled, reason: 'Waits for the release to be published' };
  if (release.status !== 'published') return held(scheduled, 'The release is paused', time);
  if (isLater) return scheduled;
  return reachSteps(running(scheduled, time.countedMs), release.rolloutPct, time);
}

function resumed(state: PlanState, release: PlannedRelease, time: PlanTime): Outcome<PlanState> {
  if (state.status !== 'held') return refused(`The plan is ${state.status}, not held`);
  if (release.status !== 'published') {
    return refused('The release is paused: publish it before its plan goes on');
  }
  const resumable = { ...waitless(state), tripped: [], undecided: [], ...UNWATCHED, leftMs: null };
  const isLater = state.startAtMs !== null && state.startAtMs > time.nowMs;
  if (isLater) return { ...resumable, status: 'scheduled', reason: null };
  const goesOn = running(resumable, time.countedMs + (state.leftMs ?? 0));
  return reachSteps(goesOn, release.rolloutPct, time);
}

/**
 * Ends the present wait, even for a guard that cannot judge or is undecided, but not for a guard whose
 * condition holds, or for closed hours. An undecided guard must be confirmed by two checks again.
 */
function advanced(
  state: PlanState,
  release: PlannedRelease,
  time: PlanTime,
  judged: JudgedHealth | undefined,
): Outcome<PlanState> {
  if (state.status === 'held') return refused('The plan is held: resume it first');
  if (!release.wasPublished) return refused('The release is not published yet');
  const [exceeded] = judged?.exceeded ?? [];
  if (exceeded !== undefined) return refused(`A guard finds the release bad: ${exceeded.reason}`);
  if (openingAt(state, time.nowMs) > time.nowMs) {
    return refused('The hours in which steps begin are closed');
  }
  const begun = reachSteps(running(state, time.countedMs), release.rolloutPct, time);
  return { ...waitless(begun), dueMs: time.countedMs, isPushed: true, wholeWatch: {} };
}

/** Returns a running plan that waits until this counted time for its next step. */
export function running(state: PlanState, dueMs: number): PlanState {
  return { ...state, status: 'running', reason: null, startAtMs: null, dueMs };
}

function refuseRelease({ status }: PlannedRelease): Failure | undefined {
  if (status === 'rolled_back') return refused('A rolled-back release can have no plan');
  if (status === 'deprecated') return refused('A deprecated release can have no plan');
  return undefined;
}

function refused(message: string): Failure {
  return fail('planRefused', message);
}
