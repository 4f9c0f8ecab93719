// Rollout plan while a person edits it: a preset, or custom steps and limits that begin as those of a preset.

import { SIGNALS } from '../../contract/choice.ts';
import type {
  BlindEffect,
  PlanGuards,
  PlannedStep,
  PlanPresetName,
  Signal,
} from '../../contract/rollout-plan.ts';
import { PLAN_PRESETS } from '../../domain/rollout/plan-presets.ts';
import { limitsText, stepsText } from './plan-words.ts';

/** Step as entered: percentage of the devices, and hours to hold it. */
export type StepDraft = { readonly rollout: string; readonly hours: string };

export type PlanDraft = {
  readonly kind: PlanPresetName | 'own';
  readonly steps: readonly StepDraft[];
  /** Limits in percent; empty for none. */
  readonly limits: Readonly<Record<Signal, string>>;
  readonly onBlind: BlindEffect;
};

const HOUR_MINUTES = 60;
/** Hours that a new step holds. */
const USUAL_HOURS = '24';
const ALL = 100;

/** Returns a plan that is this preset. */
export function presetDraft(preset: PlanPresetName): PlanDraft {
  const { steps, guards } = PLAN_PRESETS[preset];
  const limits = SIGNALS.map((signal) => [signal, String(guards[`${signal}Percent`] ?? '')]);
  return {
    kind: preset,
    steps: steps.map(({ rollout, holdMinutes }) => ({
      rollout: String(rollout),
      hours: String(holdMinutes / HOUR_MINUTES),
    })),
    limits: Object.fromEntries(limits) as PlanDraft['limits'],
    onBlind: 'hold',
  };
}

/** Returns a plan of another kind; a custom one begins with the steps and limits of the preset before. */
export function withKind(draft: PlanDraft, kind: PlanDraft['kind']): PlanDraft {
  return kind === 'own' ? { ...draft, kind } : presetDraft(kind);
}

/** Returns the plan with an empty step added: before the step for all devices, if there is one. */
export function withStep(draft: PlanDraft): PlanDraft {
  const { steps } = draft;
  const place = Number(steps.at(-1)?.rollout) === ALL ? steps.length - 1 : steps.length;
  return { ...draft, steps: steps.toSpliced(place, 0, { rollout: '', hours: USUAL_HOURS }) };
}

/** Returns why the steps cannot be sent; undefined if they can. */
export function stepsObstacle({ steps }: PlanDraft): string | undefined {
  const shares = steps.map(({ rollout }) => Number(rollout));
  const isRising = shares.every((share, index) => share > (shares[index - 1] ?? 0) && share <= ALL);
  if (!isRising) return 'Each step needs a share above that of the step before it, up to 100 %.';
  return steps.some(({ hours }) => hours.trim() === '') ? 'Each step needs a hold.' : undefined;
}

/** Returns the plan as part of a request; `source` says which devices its guards count. */
export function planBody(
  draft: PlanDraft,
  source: 'all' | 'push' = 'all',
): Readonly<Record<string, unknown>> {
  const { kind, onBlind } = draft;
  const { steps, guards } = partsOf(draft);
  if (source === 'push') return { steps, guards: guards && { ...guards, source }, onBlind };
  return kind === 'own' ? { steps, guards, onBlind } : { preset: kind };
}

/** Returns the steps of the plan in one line. */
export function planStepsText(draft: PlanDraft): string {
  return stepsText(partsOf(draft).steps);
}

/** Returns the limits of the plan in one line. */
export function planLimitsText(draft: PlanDraft): string {
  const { guards } = partsOf(draft);
  return guards === null ? 'none' : limitsText(guards);
}

type Parts = { readonly steps: readonly PlannedStep[]; readonly guards: PlanGuards | null };

function partsOf({ kind, steps, limits }: PlanDraft): Parts {
  if (kind !== 'own') return PLAN_PRESETS[kind];
  const set = SIGNALS.filter((signal) => limits[signal].trim() !== '');
  const percents = set.map((signal) => [`${signal}Percent`, Number(limits[signal])]);
  return {
    steps: steps.map(({ rollout, hours }) => ({
      rollout: Number(rollout),
      holdMinutes: Math.round(Number(hours) * HOUR_MINUTES),
    })),
    guards: set.length === 0 ? null : { ...MEASURED, ...Object.fromEntries(percents) },
  };
}

const { normal } = PLAN_PRESETS;
/** How a plan with custom limits measures signals: as the presets do. */
const MEASURED: PlanGuards = {
  minimumDevices: normal.guards.minimumDevices,
  stuckAfterMinutes: normal.guards.stuckAfterMinutes,
  silentAfterMinutes: normal.guards.silentAfterMinutes,
  knownForMinutes: normal.guards.knownForMinutes,
  confirmMinutes: normal.guards.confirmMinutes,
};
