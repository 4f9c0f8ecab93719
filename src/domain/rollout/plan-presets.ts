// Ready-made roll-out plans: steps, holds and limits that go together. docs/console.md has the same table.

import type { PlanGuards, PlannedStep } from '../../contract/rollout-plan.ts';
import { USUAL_GUARDS } from './judge-health.ts';

export type PlanPresetName = 'careful' | 'normal' | 'fast';

type PlanPreset = {
  readonly steps: readonly PlannedStep[];
  readonly guards: PlanGuards;
};

const HOUR = 60;
const DAY = 24 * HOUR;

/**
 * Presets by name, the slowest first. A device counts as stuck or silent after a time that the guards say,
 * and no hold is shorter: else a limit would be looked at before anything can be above it.
 */
export const PLAN_PRESETS: Readonly<Record<PlanPresetName, PlanPreset>> = {
  careful: {
    steps: [
      { rollout: 1, holdMinutes: DAY },
      { rollout: 5, holdMinutes: 2 * DAY },
      { rollout: 10, holdMinutes: 2 * DAY },
      { rollout: 25, holdMinutes: DAY },
      { rollout: 50, holdMinutes: DAY },
      { rollout: 100, holdMinutes: DAY },
    ],
    guards: {
      ...USUAL_GUARDS,
      ...{ failedPercent: 1, revertedPercent: 1, stuckPercent: 2, silentPercent: 1 },
    },
  },
  normal: {
    steps: [
      { rollout: 2, holdMinutes: DAY },
      { rollout: 10, holdMinutes: 2 * DAY },
      { rollout: 50, holdMinutes: DAY },
      { rollout: 100, holdMinutes: DAY },
    ],
    guards: {
      ...USUAL_GUARDS,
      ...{ failedPercent: 2, revertedPercent: 2, stuckPercent: 3, silentPercent: 2 },
    },
  },
  fast: {
    steps: [
      { rollout: 10, holdMinutes: 4 * HOUR },
      { rollout: 50, holdMinutes: 8 * HOUR },
      { rollout: 100, holdMinutes: 12 * HOUR },
    ],
    guards: {
      ...USUAL_GUARDS,
      ...{ failedPercent: 3, revertedPercent: 3, stuckPercent: 5, silentPercent: 3 },
      ...{ stuckAfterMinutes: 3 * HOUR, silentAfterMinutes: 3 * HOUR },
    },
  },
};

/** Names of the presets, the slowest first. */
export const PLAN_PRESET_NAMES: readonly PlanPresetName[] = ['careful', 'normal', 'fast'];
