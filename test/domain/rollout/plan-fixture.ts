// Plans, releases and figures for the tests of rollout plans.

import { isFailure } from '../../../src/contract/failure.ts';
import type { PlanAction, PlanGuards } from '../../../src/contract/rollout-plan.ts';
import {
  drivePlan,
  type PlanAct,
  type PlanEvidence,
} from '../../../src/domain/rollout/drive-plan.ts';
import { followRelease } from '../../../src/domain/rollout/follow-release.ts';
import { judgeHealth, USUAL_GUARDS } from '../../../src/domain/rollout/judge-health.ts';
import {
  nextAtMs,
  type PlanDefinition,
  type PlannedRelease,
  type PlanState,
  type PlanTime,
} from '../../../src/domain/rollout/plan-state.ts';
import { NO_SIGNALS, type SignalCounts } from '../../../src/domain/rollout/signal-counts.ts';
import { newPlan, steerPlan } from '../../../src/domain/rollout/steer-plan.ts';

export const MINUTE_MS = 60_000;
/** Time of the ledger when the counted time was 0. */
export const START_MS = Date.UTC(2027, 0, 1);

export const LIVE: PlannedRelease = { status: 'published', rolloutPct: 0, wasPublished: true };
export const UNBORN: PlannedRelease = { status: 'paused', rolloutPct: 0, wasPublished: false };

/** Present time so many minutes after the beginning, and a few milliseconds. */
export function at(minutes: number, ms = 0): PlanTime {
  const countedMs = minutes * MINUTE_MS + ms;
  return { nowMs: START_MS + countedMs, countedMs };
}

/** Steps written as `1:60 10:240 100:0`. */
function stepsOf(text: string): PlanDefinition['steps'] {
  return text.split(' ').map((step) => {
    const [rollout, holdMinutes] = step.split(':').map(Number);
    if (rollout === undefined || holdMinutes === undefined) throw new Error(`No step: ${step}`);
    return { rollout, holdMinutes };
  });
}

export function definition(text: string, parts: Partial<PlanDefinition> = {}): PlanDefinition {
  return {
    ...{ steps: stepsOf(text), startAtMs: undefined, guards: null, onTrip: 'pause' },
    ...{ onBlind: 'hold', patienceMinutes: 1440, raiseBetween: null, preset: null },
    ...parts,
  };
}

export function guards(parts: Partial<PlanGuards> = {}): PlanGuards {
  return { ...USUAL_GUARDS, ...parts };
}

export function planOf(
  text: string,
  release: PlannedRelease = LIVE,
  parts: Partial<PlanDefinition> = {},
): PlanState {
  const plan = newPlan(definition(text, parts), release, at(0));
  if (isFailure(plan)) throw new Error(plan.message);
  return plan;
}

/** A good release that every guard can judge. */
const WELL: SignalCounts = {
  ...NO_SIGNALS,
  ...{ offered: 1000, installed: 1000, stuckBase: 1000, silentBase: 1000 },
  others: { devices: 1000, silent: 0, scale: 1 },
};

/** Figures that are recorded up to this time: those of a good release but for these. */
export function seen(time: PlanTime, counts: Partial<SignalCounts> = {}): PlanEvidence {
  return { counts: { ...WELL, ...counts }, seenUpToMs: time.countedMs };
}

/** Figures of a release that reached nobody yet. */
export function unseen(time: PlanTime, counts: Partial<SignalCounts> = {}): PlanEvidence {
  return { counts: { ...NO_SIGNALS, ...counts }, seenUpToMs: time.countedMs };
}

/** A plan that a test plays: what is done to it changes it and its release, as in a ledger. */
export class PlayedPlan {
  state: PlanState;
  release: PlannedRelease;

  constructor(text: string, parts: Partial<PlanDefinition> = {}, release = LIVE) {
    this.release = release;
    this.state = planOf(text, release, parts);
  }

  /** Drives the plan, and returns what that does to the release. */
  drive(when: number | PlanTime, evidence?: PlanEvidence): PlanAct | undefined {
    const { state, act } = drivePlan(this.state, this.release, timeOf(when), evidence);
    this.state = state;
    if (act?.kind === 'raise') this.release = { ...this.release, rolloutPct: act.rollout };
    if (act?.kind === 'pause') this.release = { ...this.release, status: 'paused' };
    return act;
  }

  /** Drives it with figures of this moment: those of a good release but for these. */
  check(when: number | PlanTime, counts: Partial<SignalCounts> = {}): PlanAct | undefined {
    return this.drive(when, seen(timeOf(when), counts));
  }

  /** Does what a person does; returns the refusal, if that is the answer. */
  steer(action: PlanAction, minutes: number, counts?: Partial<SignalCounts>): string | undefined {
    const judged =
      counts && judgeHealth(seen(at(0), counts).counts, { ...this.state, isOffered: true });
    const outcome = steerPlan(this.state, action, this.release, at(minutes), judged);
    if (isFailure(outcome)) return outcome.message;
    this.state = outcome;
    return undefined;
  }

  /** Changes how its release is served, which the plan follows. */
  serve(change: Partial<PlannedRelease>, minutes: number): void {
    const after = { ...this.release, ...change };
    this.state = followRelease(this.state, this.release, after, at(minutes));
    this.release = after;
  }

  nextAt(when: number | PlanTime): number | null {
    return nextAtMs(this.state, timeOf(when));
  }
}

/** A played plan whose first step began at minute 0, when nobody had the release yet. */
export function begun(text: string, parts: Partial<PlanDefinition> = {}): PlayedPlan {
  const plan = new PlayedPlan(text, parts);
  if (plan.drive(0, unseen(at(0)))?.kind !== 'raise')
    throw new Error('The first step did not begin');
  return plan;
}

function timeOf(when: number | PlanTime): PlanTime {
  return typeof when === 'number' ? at(when) : when;
}
