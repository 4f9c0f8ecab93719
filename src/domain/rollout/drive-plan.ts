// One step in the life of a plan: what it does now. The caller stores the state and performs the act in one
// transaction, so that every node then finds both or neither.

import type { PlanWait, Signal, SignalBreakdown } from '../../contract/rollout-plan.ts';
import { isoTime } from '../../contract/text.ts';
import { followRelease } from './follow-release.ts';
import { type GuardWatch, watchGuards } from './guard-watch.ts';
import { type GuardFinding, type JudgedHealth, judgeHealth } from './judge-health.ts';
import {
  ended,
  held,
  openingAt,
  type PlannedRelease,
  type PlanState,
  type PlanTime,
  waitless,
} from './plan-state.ts';
import { reachSteps, SERVED_AFTER_MS } from './reach-steps.ts';
import type { SignalCounts } from './signal-counts.ts';
import { running } from './steer-plan.ts';

/** How far check-ins are recorded. */
export type RecordedUpTo = {
  /** Counted time up to which all check-ins are recorded. */
  readonly seenUpToMs: number;
  /** Region whose check-ins are recorded least far; undefined where there are no regions. */
  readonly region?: string | undefined;
};

/** Counts for a check of the guards. */
export type PlanEvidence = RecordedUpTo & {
  readonly counts: SignalCounts;
  /** Devices by platform and version, for each signal; undefined unless a guard may trip now. */
  readonly places?: Readonly<Record<Signal, SignalBreakdown>> | undefined;
};

/** Effect of a plan on its release; `reason` is for the audit log. */
export type PlanAct =
  | { readonly kind: 'raise'; readonly rollout: number; readonly reason: string }
  | { readonly kind: 'pause'; readonly reason: string };

export type DrivenPlan = { readonly state: PlanState; readonly act: PlanAct | undefined };

const MINUTE_MS = 60_000;
/** Milliseconds after the end of a hold after which a plan states that it waits for check-ins of a region. */
const TOLD_AFTER_MS = 30_000;

/**
 * Drives a plan at this moment. Without evidence it checks no guards; a plan with guards begins a step only
 * with evidence from after the end of the previous hold. Driving it again with the same arguments, or with
 * older evidence, begins no step twice.
 */
export function drivePlan(
  state: PlanState,
  release: PlannedRelease,
  time: PlanTime,
  evidence: PlanEvidence | undefined,
): DrivenPlan {
  const present = started(followRelease(state, release, release, time), release, time);
  if (present.status !== 'running' && present.status !== 'held') {
    return { state: present, act: undefined };
  }
  const judged = judge(present, release, evidence);
  const checked = judged === undefined ? { state: present } : check(present, judged, release, time);
  if (checked.state.status !== 'running') return { act: undefined, ...checked };
  const dueMs = checked.state.dueMs ?? time.countedMs;
  const isSeen = present.guards === null || hasCaughtUp(evidence, release, dueMs);
  if (time.countedMs < dueMs) return { state: checked.state, act: undefined };
  if (!isSeen) return { state: behind(checked.state, evidence, dueMs, time), act: undefined };
  return proceed(checked.state, judged, release, time);
}

/** Starts a scheduled plan if its time has come and its release is published. */
function started(state: PlanState, release: PlannedRelease, time: PlanTime): PlanState {
  if (state.status === 'running') return reachSteps(state, release.rolloutPct, time);
  if (state.status !== 'scheduled' || release.status !== 'published') return state;
  if (state.startAtMs !== null && state.startAtMs > time.nowMs) return state;
  return reachSteps(running(state, time.countedMs), release.rolloutPct, time);
}

function judge(
  { guards, tripped, silentOthers }: PlanState,
  { status }: PlannedRelease,
  evidence: PlanEvidence | undefined,
): JudgedHealth | undefined {
  if (guards === null || evidence === undefined) return undefined;
  const isOffered = status === 'published';
  return judgeHealth(evidence.counts, { guards, tripped, silentOthers, isOffered });
}

/**
 * Applies a check of the guards. A signal that trips holds the plan, or adds its reason to a held one, and
 * may pause the release. An undecided signal only holds the plan, and not if a caller has ended the wait.
 */
function check(
  state: PlanState,
  { exceeded, undecided, silentOthers }: JudgedHealth,
  release: PlannedRelease,
  time: PlanTime,
): Partial<DrivenPlan> & Pick<DrivenPlan, 'state'> {
  const confirmed = (watch: GuardWatch | undefined, findings: readonly GuardFinding[]) => {
    const signals = findings.map(({ signal }) => signal);
    const confirmMinutes = state.guards?.confirmMinutes ?? 0;
    return watchGuards(watch ?? {}, signals, time.countedMs, confirmMinutes);
  };
  const former = state.undecided ?? [];
  const { watch, tripped } = confirmed(state.watch, exceeded);
  const whole = confirmed(state.wholeWatch, [...exceeded, ...undecided]);
  const stopping = exceeded.filter(
    ({ signal }) => tripped.includes(signal) && !state.tripped.includes(signal),
  );
  const holding = undecided.filter(
    ({ signal }) =>
      !state.isPushed &&
      whole.tripped.includes(signal) &&
      !former.includes(signal) &&
      !state.tripped.includes(signal),
  );
  const checked: PlanState = {
    ...{ ...state, watch, wholeWatch: whole.watch },
    ...{ checkedMs: time.countedMs, silentOthers },
  };
  if (stopping.length + holding.length === 0) return { state: checked };
  const isPausing =
    stopping.length > 0 && state.onTrip === 'pause' && release.status === 'published';
  return {
    state: {
      ...heldFor(checked, textOf([...stopping, ...holding]), time),
      tripped: [...state.tripped, ...stopping.map(({ signal }) => signal)],
      undecided: [...former, ...holding.map(({ signal }) => signal)],
    },
    act: isPausing ? { kind: 'pause', reason: textOf(stopping) } : undefined,
  };
}

/** Holds a plan for this reason. A plan that is held already gets it in addition to its present reason. */
function heldFor(state: PlanState, text: string, time: PlanTime): PlanState {
  const isHeld = state.status === 'held' && state.reason !== null;
  return held(state, isHeld ? `${state.reason}; ${text}` : text, time);
}

/** Returns whether all check-ins up to the end of the hold are recorded, or the release is at 0 % anyway. */
function hasCaughtUp(
  evidence: PlanEvidence | undefined,
  { rolloutPct }: PlannedRelease,
  dueMs: number,
): boolean {
  return evidence !== undefined && (rolloutPct === 0 || evidence.seenUpToMs >= dueMs);
}

/** Returns the plan while check-ins up to the end of its hold are missing; states a wait of 30 s or more. */
function behind(
  state: PlanState,
  evidence: PlanEvidence | undefined,
  dueMs: number,
  { nowMs, countedMs }: PlanTime,
): PlanState {
  const region = evidence?.region;
  const { waitingFor } = state;
  const isTold = waitingFor !== null && (waitingFor.region ?? region) === region;
  if (region === undefined || isTold || countedMs - dueMs < TOLD_AFTER_MS) return state;
  const reason = `Check-ins of region ${region} are not recorded yet`;
  return { ...state, waitingFor: { guard: null, region, since: isoTime(nowMs), reason } };
}

/** Begins the next step of a plan whose hold is over, completes the plan, or lets it wait. */
function proceed(
  state: PlanState,
  judged: JudgedHealth | undefined,
  release: PlannedRelease,
  time: PlanTime,
): DrivenPlan {
  const kept = keptBy(state, judged, release, time);
  const next = (state.step ?? -1) + 1;
  const isClosed = openingAt(state, time.nowMs) > time.nowMs;
  if (kept.finding === undefined && !isClosed) {
    const free = waitless(state);
    if (next < state.steps.length) return begin(endStep(free, time), next, time);
    return { state: complete(endStep(free, time), release), act: undefined };
  }
  const { finding = CLOSED, blindSinceMs } = kept;
  const waitingFor = waitOf(state, finding, time);
  const isPatient =
    blindSinceMs === null || time.countedMs - blindSinceMs < state.patienceMinutes * MINUTE_MS;
  const isBlind = kept.isBlind && !isPatient;
  const waiting = { ...state, waitingFor, blindSinceMs };
  return { state: isBlind ? held(waiting, finding.reason, time) : waiting, act: undefined };
}

type Finding = Omit<GuardFinding, 'signal'> & { readonly signal: GuardFinding['signal'] | null };

const CLOSED: Finding = { signal: null, reason: 'The hours in which steps begin are closed' };

/**
 * Returns the guard that delays the plan: the first whose condition holds, else the first that is undecided,
 * else the first that cannot judge. A release at 0 % has nothing to judge yet.
 */
function keptBy(
  { guards, onBlind, isPushed, blindSinceMs }: PlanState,
  judged: JudgedHealth | undefined,
  { rolloutPct }: PlannedRelease,
  { countedMs }: PlanTime,
) {
  if (guards === null || judged === undefined) {
    return { finding: undefined, isBlind: false, blindSinceMs: null };
  }
  const isBlindFree = onBlind === 'advance' || isPushed || rolloutPct === 0;
  const blind = isBlindFree ? undefined : judged.blind[0];
  const undecided = isPushed ? undefined : judged.undecided[0];
  const above = judged.exceeded[0] ?? undecided;
  return {
    finding: above ?? blind,
    isBlind: above === undefined && blind !== undefined,
    blindSinceMs: blind === undefined ? null : (blindSinceMs ?? countedMs),
  };
}

/**
 * Returns what a plan waits for. `since` stays if the plan waited for the same already, unless its hours have
 * opened since then without a step.
 */
function waitOf(state: PlanState, { signal, reason }: Finding, { nowMs }: PlanTime): PlanWait {
  const present = state.waitingFor;
  const isSame = present !== null && present.region === undefined && present.guard === signal;
  const hasMissed =
    isSame && signal === null && openingAt(state, Date.parse(present.since)) <= nowMs;
  return { guard: signal, since: isSame && !hasMissed ? present.since : isoTime(nowMs), reason };
}

function endStep(state: PlanState, { nowMs }: PlanTime): PlanState {
  const steps = state.steps.map((step) =>
    step.startedAt !== null && step.endedAt === null ? { ...step, endedAt: isoTime(nowMs) } : step,
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
  const begun = { ...state, steps, step: index, dueMs, raisedMs: countedMs };
  return {
    state: { ...begun, isReached: false, isPushed: false },
    act: {
      kind: 'raise',
      rollout: step.rollout,
      reason: `Step ${index + 1} of ${steps.length}`,
    },
  };
}

/** Completes a plan. If others reached its last step, the plan had nothing left to do. */
function complete(state: PlanState, { rolloutPct }: PlannedRelease): PlanState {
  const reason = state.isReached
    ? `Nothing was left to do: the rollout is at ${rolloutPct} %`
    : 'All steps are done';
  return ended(state, 'completed', reason);
}

function textOf(findings: readonly GuardFinding[]): string {
  return findings.map(({ reason }) => reason).join('; ');
}
