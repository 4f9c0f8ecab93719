// Ready-made rollout plans: steps, holds and limits that go together. docs/operating/rollout-plans.md has the
// same table.

import type { PlanGuards, PlannedStep, PlanPresetName } from '../../contract/rollout-plan.ts';
import { USUAL_GUARDS } from './judge-health.ts';

export type PlanPreset = {
  readonly steps: readonly PlannedStep[];
  readonly guards: PlanGuards;
};

const DAY = 24 * 60;

/**
 * Minutes for which a release is watched once everybody is offered it. Then no other devices are left to
 * compare silent ones with: a hold of a day ended on weekends that nothing told from harm.
 */
const LAST_HOLD = 12 * 60;

/**
 * Minutes for which a signal must stay above its limit. On a Monday morning devices come back that were
 * offered a release on Friday: for a while they are stuck, until they install it.
 */
const CONFIRM_MINUTES = 60;

const CAUTION = { confirmMinutes: CONFIRM_MINUTES };

/**
 * Presets by name, the slowest first, made with `npm run bench -- rollouts`
 * (docs/operating/rollout-plans.md). Before a quarter of the fleet gets a release, a fifth has it for three
 * days or more: a device that fell silent is not told from one in an office at the weekend until Monday, and
 * it takes a fifth of 20,000 devices to tell 3 % silent ones from chance. The later that step begins, the
 * lower is the limit of `silent`: of the other devices, whose share is taken off, more have left the fleet
 * by then since the release was published. No hold but the last is shorter than the time after which a
 * device counts as stuck or silent.
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
      ...{ failedPercent: 2, revertedPercent: 2, stuckPercent: 3, silentPercent: 1.5 },
    },
  },
};
