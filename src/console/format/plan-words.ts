// Words for rollout plans: their state, their next step, and their signals.

import { SIGNALS } from '../../contract/choice.ts';
import type { PlanAndHealth } from '../../contract/console.ts';
import type { AuditEntry } from '../../contract/resource.ts';
import {
  BARE_REASON,
  isOpenEnded,
  type PlanAction,
  type PlanGuards,
  type PlanStatus,
  type PlanStep,
  type RolloutPlan,
  type Signal,
  type SignalPlaces,
  type SignalRate,
} from '../../contract/rollout-plan.ts';
import { compareVersions, parseVersion } from '../../domain/decision/version.ts';
import { WATCHED_MINUTES_MIN } from '../../domain/rollout/reach-steps.ts';
import { actorWords } from '../../words/name.ts';
import { countText, minutesText, numberText, percentText } from './figure-text.ts';

/** Returns by whom or why a plan is held, without a full stop. `history`: of its release, newest first. */
export function heldText({ reason }: Pick<RolloutPlan, 'reason'>, history: readonly AuditEntry[]) {
  const deed = history.find(({ action }) => action === 'plan.hold');
  if (reason === null) return 'held, and no reason is known';
  if (reason !== BARE_REASON.hold) return `held: ${reason}`;
  if (deed === undefined) return 'held by hand';
  return `held by ${actorWords(deed.actor)}${deed.reason === null ? '' : `: ${deed.reason}`}`;
}

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
      'The rollout stays where it is until the plan is resumed. What is left of the wait is kept.',
  },
  resume: {
    verb: 'Resume plan',
    consequence: 'The plan goes on with what was left of its wait, and its guards look anew.',
  },
  advance: {
    verb: 'Next step now',
    consequence: 'The present wait ends. The guards are checked first.',
  },
  cancel: {
    verb: 'Cancel plan',
    consequence:
      'The plan ends for good, and the rollout stays where it is. Another plan can be made.',
  },
};

/** What each signal counts. */
export const SIGNAL_WORDS: Readonly<Record<Signal, string>> = {
  failed: 'could not install it, and said so',
  reverted: 'were on it, and went back',
  stuck: 'offered, checked in again, still on the old version',
  silent: 'not seen again since the update',
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

/** Returns whether a plan is open: neither completed nor cancelled. */
export function isOpenPlan(status: PlanStatus): boolean {
  return status !== 'completed' && status !== 'cancelled';
}

export type StepPlace = 'done' | 'passed' | 'now' | 'next' | 'later';

/** Returns the state of a step; `next` is the one that an open plan begins next. */
export function stepPlace({ status, steps }: RolloutPlan, step: PlanStep): StepPlace {
  if (step.endedAt !== null) return step.startedAt === null ? 'passed' : 'done';
  if (step.startedAt !== null) return 'now';
  return isOpenPlan(status) && step === nextStep(steps) ? 'next' : 'later';
}

/** Returns the first step that has neither begun nor been skipped; undefined if none is left. */
export function nextStep(steps: readonly PlanStep[]): PlanStep | undefined {
  return steps.find(isAhead);
}

function isAhead({ startedAt, endedAt }: PlanStep): boolean {
  return startedAt === null && endedAt === null;
}

/**
 * Describes what an open plan does after a person has raised the release to `percent`, with the time if it is
 * known. If this reaches a step, the step's whole hold begins then; if not, the present wait stays.
 */
export function afterRaise(
  plan: RolloutPlan,
  percent: number,
): { text: string; at: string | null } {
  const { status, nextAt, waitingFor, guards } = plan;
  if (status === 'scheduled') {
    return nextAt === null
      ? { text: 'Its plan begins once it is published.', at: null }
      : { text: 'Its plan begins', at: nextAt };
  }
  const ahead = plan.steps.filter(isAhead);
  const reached = ahead.findLast(({ rollout }) => rollout <= percent);
  const next = ahead.find(({ rollout }) => rollout > percent);
  const what = next === undefined ? 'is completed' : `goes to ${percentText(next.rollout)}`;
  const how = status === 'held' ? 'is held: once it is resumed,' : 'goes on from there:';
  const soon = guards === null ? 'at once' : 'as soon as its guards allow it';
  if (reached !== undefined) {
    const isWatched = next === undefined && guards !== null;
    const wait = Math.max(reached.holdMinutes, isWatched ? WATCHED_MINUTES_MIN : 0);
    const when = wait === 0 ? soon : `${minutesText(wait)} later`;
    return { text: `Its plan ${how} it ${what} ${when}.`, at: null };
  }
  if (status === 'held') {
    return { text: `Its plan ${how} it ${what} after what is left of its wait.`, at: null };
  }
  const isDelayed = nextAt === null || isOpenEnded(waitingFor);
  return isDelayed
    ? { text: `Its plan waits as before: it ${what} ${soon}.`, at: null }
    : { text: `Its plan waits as before, then ${what}`, at: nextAt };
}

/** Formats the hold of a step: `then 2 days`. */
export function holdText({ holdMinutes }: Pick<PlanStep, 'holdMinutes'>): string {
  return holdMinutes === 0 ? 'no wait' : `then ${minutesText(holdMinutes)}`;
}

/** Returns one line for the steps of a plan: `2 % for 1 day, 10 % for 2 days, 100 % for 1 day`. */
export function stepsText(steps: readonly Pick<PlanStep, 'rollout' | 'holdMinutes'>[]): string {
  return steps
    .map(({ rollout, holdMinutes }) =>
      holdMinutes === 0
        ? percentText(rollout)
        : `${percentText(rollout)} for ${minutesText(holdMinutes)}`,
    )
    .join(', ');
}

/** Returns the limits of guards: `failed 2 %, stuck 3 %`. */
export function limitsText(guards: PlanGuards): string {
  const limits = SIGNALS.flatMap((signal) => {
    const limit = guards[`${signal}Percent`];
    return limit === undefined ? [] : [`${signal} ${percentText(limit)}`];
  });
  return limits.length === 0 ? 'none' : limits.join(', ');
}

/** Formats the interval of a rate: `1.4 % to 6.4 %`. */
export function intervalText({ low, high }: SignalRate): string {
  return `${percentText(low)} to ${percentText(high)}`;
}

/**
 * Describes how the rate of silent devices follows from their count: `7 of 527 are silent, 1.3 %, less 0.5 %
 * among other devices`. Undefined if nothing is subtracted. `reached`: number of devices that could be
 * silent, if known; if the rate is of a part of them, the part's silent devices are unknown.
 */
export function silentText(
  devices: number,
  { base, percent }: SignalRate,
  reached: number | undefined,
): string | undefined {
  if (base === 0 || reached === undefined) return undefined;
  if (base !== reached) return `judged by ${countText(base, 'device')}`;
  const plain = Math.round((devices / base) * 1000) / 10;
  const less = Math.round((plain - percent) * 10) / 10;
  if (less < 0.1) return undefined;
  const count = `${numberText(devices)} of ${numberText(base)}`;
  // A rate of 0 may have been raised from below 0 (`measure-signal.ts`): then more than `less` is subtracted.
  const others = `${percent === 0 ? 'at least ' : ''}${percentText(less)}`;
  return `${count} are silent, ${percentText(plain)}, less ${others} among other devices`;
}

/**
 * Describes the network whose devices keep a guard from judging; undefined if there is none, or if a node of
 * the previous version answered, which names none.
 */
export function networkText({ network }: Partial<SignalRate>): string | undefined {
  if (!network) return undefined;
  const { count, base } = network;
  const share = `${numberText(count)} of its ${countText(base, 'device')}`;
  return `without one network (${share}) too few are left to judge by`;
}

/**
 * Leaves out the versions above the release: their devices updated past it, and nothing is wrong with them.
 * `moved` is the number of these devices.
 */
export function placesLeft(places: SignalPlaces, version: string) {
  const own = parseVersion(version);
  const isAbove = (name: string) => {
    const other = parseVersion(name);
    return own !== undefined && other !== undefined && compareVersions(other, own) > 0;
  };
  const newer = places.named.filter(({ name }) => isAbove(name));
  return {
    left: { ...places, named: places.named.filter((each) => !newer.includes(each)) },
    moved: newer.reduce((sum, { devices }) => sum + devices, 0),
  };
}

/** Number of devices that a signal needs without a plan. */
const USUAL_MINIMUM = 100;

/** Returns why a release, which is offered now or not, cannot be judged yet; undefined if it can. */
export function tooEarlyText(
  { health, plan }: PlanAndHealth,
  isOffered: boolean,
): string | undefined {
  const { verdict, rates } = health;
  if (verdict !== 'too early') return undefined;
  const guards = plan?.guards ?? null;
  const needed = guards?.minimumDevices ?? USUAL_MINIMUM;
  const small = SIGNALS.filter(
    (signal) => (guards === null || rates[signal].limit !== null) && rates[signal].base < needed,
  );
  const undecided = SIGNALS.filter((signal) => networkText(rates[signal]) !== undefined);
  if (small.length === 0 && undecided.length > 0) {
    const left = 'but without one network too few devices are left to judge by';
    return `For a person to decide: ${undecided.join(', ')} above the limit, ${left}.`;
  }
  if (small.length === 0) {
    return isOffered
      ? 'Too early to tell: there are too few other devices to compare silent ones with.'
      : 'Too early to tell: it is not offered now.';
  }
  const counts = small.map((signal) => `${signal} has ${numberText(rates[signal].base)}`);
  const devices = `${numberText(needed)} devices that each signal needs`;
  return `Too early to tell: of the ${devices}, ${counts.join(', ')}.`;
}

/** Describes what watches a plan, and what happens when a signal exceeds its limit. */
export function watchText({
  guards,
  onTrip,
  status,
}: Pick<RolloutPlan, 'guards' | 'onTrip' | 'status'>): string {
  if (!isOpenPlan(status)) return 'The plan is over: nothing watches the signals now.';
  if (guards === null) return 'It has no guards: nothing but people stops it.';
  const what = onTrip === 'pause' ? 'the release is paused and the plan held' : 'the plan is held';
  const who = guards.source === 'push' ? ' Only devices that are reported with a key count.' : '';
  return `When a signal exceeds its limit (95\u00a0% confidence), ${what}.${who}`;
}

/** Returns how many devices each guard can judge by; undefined without guards. */
export function judgedText({ health, plan }: PlanAndHealth): string | undefined {
  const guards = plan?.guards ?? null;
  const limited = SIGNALS.filter((signal) => health.rates[signal].limit !== null);
  if (guards === null || limited.length === 0) return undefined;
  const counts = limited.map((signal) => `${signal} by ${numberText(health.rates[signal].base)}`);
  const needed = numberText(guards.minimumDevices);
  return `Devices to judge by: ${counts.join(', ')}; each guard needs ${needed}.`;
}
