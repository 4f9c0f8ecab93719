// Steps that the rollout reached without the plan: before the plan began, or by a raise by hand.

import { isoTime } from '../../contract/text.ts';
import { type PlanState, type PlanTime, waitless } from './plan-state.ts';

const MINUTE_MS = 60_000;

/** Minimum time in minutes that guards watch after the last raise if no step is left. */
export const WATCHED_MINUTES_MIN = 60;

/**
 * Marks the steps after the present one that the rollout has reached already. The last of them becomes the
 * present step and gets its whole hold from now on, because its devices have not been judged yet; those
 * before it end. If there are none, the plan stays as it is. `servedAfterMs` is the time until all nodes
 * serve the rollout: 0 unless it was just raised.
 */
export function reachSteps(
  state: PlanState,
  rolloutPct: number,
  time: PlanTime,
  servedAfterMs = 0,
): PlanState {
  const from = (state.step ?? -1) + 1;
  const above = state.steps.findIndex(
    ({ rollout }, index) => index >= from && rollout > rolloutPct,
  );
  const index = (above === -1 ? state.steps.length : above) - 1;
  const reached = state.steps[index];
  if (reached === undefined || index < from) return state;
  const now = isoTime(time.nowMs);
  const steps = state.steps.map((step, place) => {
    if (place > index) return step;
    const startedAt = place < from ? step.startedAt : now;
    return { ...step, startedAt, endedAt: place === index ? null : (step.endedAt ?? now) };
  });
  const next = { ...waitless(state), steps, step: index, isReached: true, isPushed: false };
  return waitUntil(next, time, time.countedMs + reached.holdMinutes * MINUTE_MS + servedAfterMs);
}

/** Milliseconds until every node serves a change, even a node that missed its announcement. */
export const SERVED_AFTER_MS = 2000;

/** Records that somebody raised the rollout. If no step is left, the plan's guards watch for an hour more. */
export function noteRaise(state: PlanState, rolloutPct: number, time: PlanTime): PlanState {
  const raised = { ...state, raisedMs: time.countedMs };
  const isUnderWay = state.status === 'running' || (state.status === 'held' && state.step !== null);
  if (!isUnderWay) return raised;
  const reached = reachSteps(raised, rolloutPct, time, SERVED_AFTER_MS);
  if (reached !== raised || !raised.isReached) return reached;
  const dueMs = raised.dueMs ?? time.countedMs + (raised.leftMs ?? 0);
  return waitUntil(raised, time, dueMs);
}

/** Returns the plan with the end of its wait, later if its guards must watch longer. */
function waitUntil(state: PlanState, { countedMs }: PlanTime, untilMs: number): PlanState {
  const isLast = state.step === state.steps.length - 1;
  const watchedMs =
    isLast && state.guards !== null ? state.raisedMs + WATCHED_MINUTES_MIN * MINUTE_MS : 0;
  const dueMs = Math.max(untilMs, watchedMs);
  return state.status === 'held'
    ? { ...state, leftMs: Math.max(0, dueMs - countedMs) }
    : { ...state, dueMs };
}
