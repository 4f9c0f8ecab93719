// One look at a plan: what it does now. The caller stores the state and does the acts in one transaction, so
// that whoever looks next, on whichever node, finds either both or none.

import { isoTime } from '../../contract/iso-time.ts';
import { followRelease } from './follow-release.ts';
import { watchGuards } from './guard-watch.ts';
import { judgeHealth, type SignalCounts, tripText } from './judge-health.ts';
import { ended, held, type PlannedRelease, type PlanState, type PlanTime } from './plan-state.ts';
import { running } from './steer-plan.ts';

/** Figures for a check of the guards. */
export type PlanEvidence = {
  readonly counts: SignalCounts;
  /** Counted time up to which every check-in of before is in the counts. */
  readonly seenUpToMs: number;
};

/** What a plan does to its release; `reason` is for the audit. */
export type PlanAct =
  | { readonly kind: 'raise'; readonly rollout: number; readonly reason: string }
  | { readonly kind: 'pause'; readonly reason: string };

export type DrivenPlan = { readonly state: PlanState; readonly act: PlanAct | undefined };

const MINUTE_MS = 60_000;

/** Milliseconds after the last raise for which guards are watched at least when no step is left. */
const WATCHED_MS_MIN = 60 * MINUTE_MS;

/**
 * Looks at a plan at this moment. Without evidence, guards are not checked; a step of a plan that has guards
 * begins only with evidence of the time after the end of the hold before it. Driving a plan again with the
 * same arguments, or with older evidence, begins no step twice.
 */
export function drivePlan(
  state: PlanState,
  release: PlannedRelease,
  time: PlanTime,
  evidence: PlanEvidence | undefined,
): DrivenPlan {
  const present = started(followRelease(state, release, release, time), release, time);
  if (present.status !== 'running') return { state: present, act: undefined };
  const checked = check(present, release, time, evidence);
  if (checked.state.status !== 'running') return checked;
  return proceed(checked.state, release, time, evidence);
}

/**
 * Milliseconds from a change to the moment at which every node serves it, also one that does not hear of it:
 * the hold of a step begins then.
 */
export const SERVED_AFTER_MS = 2000;

/** Starts a scheduled plan when its time has come and its release is published. */
function started(state: PlanState, release: PlannedRelease, time: PlanTime): PlanState {
  if (state.status !== 'scheduled' || release.status !== 'published') return state;
  if (state.startAtMs !== null && state.startAtMs > time.nowMs) return state;
  return running(state, time.countedMs);
}

/** Checks the guards: those that trip hold the plan. */
function check(
  state: PlanState,
  release: PlannedRelease,
  time: PlanTime,
  evidence: PlanEvidence | undefined,
): DrivenPlan {
  const { guards, tripped } = state;
  if (guards === null || evidence === undefined) return { state, act: undefined };
  const { counts } = evidence;
  const judged = judgeHealth(counts, { guards, tripped, silentShare: state.silentShare });
  const watched = watchGuards(state.watch, judged.exceeded, time.countedMs, guards.confirmMinutes);
  const checked: PlanState = {
    ...state,
    watch: watched.watch,
    checkedMs: time.countedMs,
    silentShare: judged.silentShare,
  };
  if (watched.tripped.length === 0) return { state: checked, act: undefined };
  const reason = tripText(judged.health, counts, watched.tripped);
  const isPausing = state.onTrip === 'pause' && release.status === 'published';
  return {
    state: held(checked, reason, time, watched.tripped),
    act: isPausing ? { kind: 'pause', reason } : undefined,
  };
}

/** Begins the next step when the present wait is over, or ends the plan. */
function proceed(
  state: PlanState,
  release: PlannedRelease,
  time: PlanTime,
  evidence: PlanEvidence | undefined,
): DrivenPlan {
  const dueMs = state.dueMs ?? time.countedMs;
  const isSeen = state.guards === null || (evidence !== undefined && evidence.seenUpToMs >= dueMs);
  if (time.countedMs < dueMs || !isSeen) return { state, act: undefined };
  const over = endStep(state, time);
  if (over.isWatching) return { state: nothingLeft(over, release), act: undefined };
  const from = over.step === null ? 0 : over.step + 1;
  const next = firstToDo(over, from, release);
  const passed = passOver(over, lastPassed(over), next, time);
  if (next < over.steps.length) return begin(passed, next, time);
  return { state: finish(passed, lastPassed(over), release, time), act: undefined };
}

/** Index of the first step above the present roll-out, from this one on. */
function firstToDo({ steps }: PlanState, from: number, { rolloutPct }: PlannedRelease): number {
  const index = steps.findIndex((step, place) => place >= from && step.rollout > rolloutPct);
  return index === -1 ? steps.length : index;
}

/** Index of the first step that has neither begun nor was passed over. */
function lastPassed({ steps }: PlanState): number {
  const index = steps.findIndex(({ startedAt, endedAt }) => startedAt === null && endedAt === null);
  return index === -1 ? steps.length : index;
}

function endStep(state: PlanState, { nowMs }: PlanTime): PlanState {
  const steps = state.steps.map((step) =>
    step.startedAt !== null && step.endedAt === null ? { ...step, endedAt: isoTime(nowMs) } : step,
  );
  return { ...state, steps };
}

function passOver(state: PlanState, from: number, to: number, { nowMs }: PlanTime): PlanState {
  const steps = state.steps.map((step, index) =>
    index >= from && index < to ? { ...step, endedAt: isoTime(nowMs) } : step,
  );
  return { ...state, steps };
}

function begin(state: PlanState, index: number, { nowMs, countedMs }: PlanTime): DrivenPlan {
  const step = state.steps[index];
  if (step === undefined) throw new Error(`The plan has no step ${index}`);
  const steps = state.steps.map((each) =>
    each === step ? { ...each, startedAt: isoTime(nowMs) } : each,
  );
  const dueMs = countedMs + step.holdMinutes * MINUTE_MS + SERVED_AFTER_MS;
  return {
    state: { ...state, steps, step: index, dueMs, raisedMs: countedMs },
    act: {
      kind: 'raise',
      rollout: step.rollout,
      reason: `Step ${index + 1} of ${steps.length}`,
    },
  };
}

/**
 * Ends a plan that has no step left. One that passed steps over has not held them: its guards are watched for
 * the longest of those holds, and for an hour at least after the last raise.
 */
function finish(
  state: PlanState,
  firstPassed: number,
  release: PlannedRelease,
  { countedMs }: PlanTime,
): PlanState {
  const passed = state.steps.slice(firstPassed);
  if (passed.length === 0) return ended(state, 'completed', 'All steps are done');
  const longestMs = Math.max(...passed.map(({ holdMinutes }) => holdMinutes)) * MINUTE_MS;
  const dueMs = Math.max(countedMs + longestMs, state.raisedMs + WATCHED_MS_MIN);
  if (state.guards === null || dueMs <= countedMs) return nothingLeft(state, release);
  return { ...state, isWatching: true, dueMs };
}

function nothingLeft(state: PlanState, { rolloutPct }: PlannedRelease): PlanState {
  return ended(state, 'completed', `Nothing was left to do: the roll-out is at ${rolloutPct} %`);
}
