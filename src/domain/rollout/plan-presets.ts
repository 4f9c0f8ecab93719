// Ready-made rollout plans: steps, holds and limits. docs/operating/rollout-plans.md has the
// same table.

import type { PlanGuards, PlannedStep, PlanPresetName } from '../../contract/rollout-plan.ts';
import { USUAL_GUARDS } from './judge-health.ts';

export type PlanPreset = {
  readonly steps: readonly PlannedStep[];
  readonly guards: PlanGuards;
};

const DAY = 24 * 60;

/**
 * Minutes for which guards watch a release after 100 %. No other devices are left then to compare silent ones
 * with, so a hold of a day could take an office that is closed at the weekend for silent devices.
 */
const LAST_HOLD = 12 * 60;

/**
 * Minutes for which a signal must stay above its limit. On Monday mornings, devices that were offered a
 * release on Friday come back and count as stuck until they install it.
 */
const CONFIRM_MINUTES = 60;

const CAUTION = { confirmMinutes: CONFIRM_MINUTES };

/**
 * Presets by name, slowest first, tuned with `npm run bench -- rollouts` (docs/operating/rollout-plans.md).
 * The step at 20 % lasts three days or more: until Monday, a silent device looks like one in an office that
 * is closed, and 3 % of silent devices differ from chance only among a fifth of 20,000 devices. The later
 * that step begins, the lower the limit of `silent`, because more of the other devices have left the fleet
 * since the release. Only the last hold is shorter than the times of `stuck` and `silent`.
 */
export const PLAN_PRESETS: Readonly<Record<PlanPresetName, PlanPreset>> = {
  careful: {
    steps: [
      { rollout: 1, holdMinutes: DAY },
      { rollout: 20, holdMinutes: 4 * DAY },
      { rollout: 50, holdMinutes: DAY },
      { rollout: 100, holdMinutes: LAST_HOLD },
    ],
    guards: {
      ...{ ...USUAL_GUARDS, ...CAUTION },
      ...{ failedPercent: 1, revertedPercent: 1, stuckPercent: 2, silentPercent: 1 },
    },
  },
  normal: {
    steps: [
      { rollout: 5, holdMinutes: DAY },
      { rollout: 20, holdMinutes: 4 * DAY },
      { rollout: 100, holdMinutes: LAST_HOLD },
    ],
    guards: {
      ...{ ...USUAL_GUARDS, ...CAUTION },
      ...{ failedPercent: 1.5, revertedPercent: 1.5, stuckPercent: 2.5, silentPercent: 1 },
    },
  },
  fast: {
    steps: [
      { rollout: 20, holdMinutes: 3 * DAY },
      { rollout: 100, holdMinutes: LAST_HOLD },
    ],
    guards: {
      ...{ ...USUAL_GUARDS, ...CAUTION },
      ...{ failedPercent: 2, revertedPercent: 2, stuckPercent: 3, silentPercent: 1.3 },
    },
  },
};
