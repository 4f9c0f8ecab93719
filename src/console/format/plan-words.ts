// Words for rollout plans: their state, their next step, and their signals.

import {
  type PlanAction,
  type PlanGuards,
  type PlanStatus,
  type PlanStep,
  type RolloutPlan,
  SIGNALS,
  type Signal,
  type SignalRate,
} from '../../contract/rollout-plan.ts';
import { minutesText } from './figure-text.ts';

type ActionWords = {
  /** Verb on the button. */
  readonly verb: string;
  /** Effect on the release, for the dialog. */
  readonly consequence: string;
};

/** Words for the actions on a plan. */
export const PLAN_WORDS: Readonly<Record<PlanAction, ActionWords>> = {
  hold: {
    verb: 'Hold plan',
    consequence:
      'The roll-out stays where it is until the plan is resumed. What is left of the wait is kept.',
  },
  resume: {
    verb: 'Resume plan',
    consequence: 'The plan goes on with what was left of its wait, and its guards look anew.',
  },
  advance: {
    verb: 'Next step now',
    consequence:
      'The present wait ends, and the next step begins once the guards have been checked.',
  },
  cancel: {
    verb: 'Cancel plan',
    consequence:
      'The plan ends for good, and the roll-out stays where it is. Another plan can be made.',
  },
};

/** What each signal counts. */
export const SIGNAL_WORDS: Readonly<Record<Signal, string>> = {
  failed: 'could not install it, and said so',
  reverted: 'were on it, and went back',
  stuck: 'were offered it, came again, and are not on it',
  silent: 'have not been seen since it reached them',
};

const ACTIONS: Readonly<Record<PlanStatus, readonly PlanAction[]>> = {
  scheduled: ['advance', 'hold', 'cancel'],
  running: ['advance', 'hold', 'cancel'],
  held: ['resume', 'cancel'],
  completed: [],
  cancelled: [],
};

/** Returns the possible actions on a plan in this status, the most likely first. */
export function planActions(status: PlanStatus): readonly PlanAction[] {
  return ACTIONS[status];
}

export type StepPlace = 'done' | 'passed' | 'now' | 'next' | 'later';

/** Returns the state of a step; `next` is the step that an open plan begins next. */
export function stepPlace({ status, steps }: RolloutPlan, step: PlanStep): StepPlace {
  if (step.endedAt !== null) return step.startedAt === null ? 'passed' : 'done';
  if (step.startedAt !== null) return 'now';
  const isOver = status === 'completed' || status === 'cancelled';
  return !isOver && step === nextStep(steps) ? 'next' : 'later';
}

/** Returns the first step that has neither begun nor been skipped; undefined if none is left. */
export function nextStep(steps: readonly PlanStep[]): PlanStep | undefined {
  return steps.find(({ startedAt, endedAt }) => startedAt === null && endedAt === null);
}

/**
 * Says what a plan does after a person has raised the release to `percent`: steps up to there count as
 * reached, and the last of them keeps its hold.
 */
export function afterRaiseText(
  steps: readonly Pick<PlanStep, 'rollout' | 'holdMinutes'>[],
  percent: number,
): string {
  const reached = steps.filter(({ rollout }) => rollout <= percent).at(-1);
  const next = steps.find(({ rollout }) => rollout > percent);
  const what = next === undefined ? 'is completed' : `goes to ${next.rollout}%`;
  const wait = reached === undefined ? 0 : reached.holdMinutes;
  const when = wait === 0 ? 'as soon as its guards allow it' : `${minutesText(wait)} later`;
  return `Its plan goes on from there: it ${what} ${when}.`;
}

/** Formats the hold of a step: `then 2 days`. */
export function holdText({ holdMinutes }: Pick<PlanStep, 'holdMinutes'>): string {
  return holdMinutes === 0 ? 'no wait' : `then ${minutesText(holdMinutes)}`;
}

/** Returns one line for the steps of a plan: `2% for 1 day, 10% for 2 days, 100% for 1 day`. */
export function stepsText(steps: readonly Pick<PlanStep, 'rollout' | 'holdMinutes'>[]): string {
  return steps
    .map(({ rollout, holdMinutes }) =>
      holdMinutes === 0 ? `${rollout}%` : `${rollout}% for ${minutesText(holdMinutes)}`,
    )
    .join(', ');
}

/** Returns the limits of guards: `failed 2%, stuck 3%`. */
export function limitsText(guards: PlanGuards): string {
  const limits = SIGNALS.flatMap((signal) => {
    const limit = guards[`${signal}Percent`];
    return limit === undefined ? [] : [`${signal} ${limit}%`];
  });
  return limits.length === 0 ? 'none' : limits.join(', ');
}

/** Formats a rate with its interval: `3% (1.4 to 6.4%)`. */
export function rateText({ percent, low, high }: SignalRate): string {
  return `${percent}% (${low} to ${high}%)`;
}
