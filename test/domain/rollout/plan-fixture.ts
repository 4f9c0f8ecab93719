// Plans, releases and figures for the tests of rollout plans.

import { isFailure } from '../../../src/contract/failure.ts';
import type { PlanGuards } from '../../../src/contract/rollout-plan.ts';
import type { PlanEvidence } from '../../../src/domain/rollout/drive-plan.ts';
import { USUAL_GUARDS } from '../../../src/domain/rollout/judge-health.ts';
import type {
  PlanDefinition,
  PlannedRelease,
  PlanState,
  PlanTime,
} from '../../../src/domain/rollout/plan-state.ts';
import { NO_SIGNALS, type SignalCounts } from '../../../src/domain/rollout/signal-counts.ts';
import { newPlan } from '../../../src/domain/rollout/steer-plan.ts';

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
