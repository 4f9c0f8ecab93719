// Rollout plans, the health of a release, its failures and its adoption (docs/contract.md 27).

import type { Answer } from './answer-shape.ts';

export type PlanStatus = RolloutPlan['status'];

export const PLAN_ACTIONS = ['hold', 'resume', 'advance', 'cancel'] as const;
/** Action of a person or a key on a plan. */
export type PlanAction = (typeof PLAN_ACTIONS)[number];

/** Reasons that a plan has after a person or a key held or cancelled it: they only repeat the action. */
export const BARE_REASON = { hold: 'Held', cancel: 'Cancelled' } as const;

/** Sign that a release harms devices. */
export type Signal = keyof Health['rates'];

/** What a tripped guard does: it holds the plan (`hold`), or also pauses the release (`pause`). */
export type TripEffect = RolloutPlan['onTrip'];

/**
 * What a plan does after the hold of a step if a guard with a limit has too few devices to judge: `hold`
 * waits for them, up to `patienceMinutes`, and then holds the plan; `advance` continues.
 */
export type BlindEffect = RolloutPlan['onBlind'];

/** Names of ready-made plans, the slowest first. */
export type PlanPresetName = NamedPreset['name'];

/** Hours of the week in which steps may begin. */
export type RaiseHours = NonNullable<RolloutPlan['raiseBetween']>;

/** What a running plan waits for after the hold of its step: a guard, a region, or its hours. */
export type PlanWait = NonNullable<RolloutPlan['waitingFor']>;

/** Wait for a guard or a region. */
type OpenEndedWait = PlanWait & ({ readonly guard: Signal } | { readonly region: string });

/** Returns whether the end of a wait is unknown: the plan waits for a guard or a region, not its hours. */
export function isOpenEnded(wait: PlanWait | null): wait is OpenEndedWait {
  return wait !== null && (wait.guard !== null || wait.region !== undefined);
}

/** Limits of signals in percent, and how signals are measured; without a limit, a signal never trips. */
export type PlanGuards = NamedPreset['guards'];

/** Step of a plan before it is driven. */
export type PlannedStep = NamedPreset['steps'][number];

/**
 * Step with its start and end, RFC 3339. If somebody else raised the rollout to a step's percentage, its
 * start is the time at which the plan found that.
 */
export type PlanStep = RolloutPlan['steps'][number];
export type RolloutPlan = Answer<'RolloutPlan'>;

/** Plan that is not stored, as a dry run shows it. */
export type UnstoredPlan = Answer<'RehearsedPlan'>['plan'];
export type NamedPreset = Answer<'PlanPresets'>['presets'][number];

/**
 * Rate of a signal with the ends of its 95 % interval, in percent with one decimal. For `silent` it is the
 * difference from the rate among devices that were not offered the release, if that is known.
 */
export type SignalRate = Health['rates'][Signal];

/** Health of a release, from the check-ins of known devices. */
export type Health = Answer<'Health'>;

// Details of a release beside its health: which platforms and versions show its signals, why devices failed,
// and how fast it spreads compared with the previous release.

/** Failures of the devices in `Health`, by platform, previous version and reason. */
export type FailureBreakdown = {
  readonly signals: Readonly<Record<Signal, SignalBreakdown>>;
  /** Number of devices that each examined device stands for in a sample; 1 if all were examined. */
  readonly scale: number;
  /** Most frequent reasons of the newest 10,000 failures that the health counts, at most 20. */
  readonly reasons: readonly FailureReason[];
};

/** Number of devices that show a signal, and of those that could (`base`). */
export type SignalShare = {
  readonly devices: number;
  readonly base: number;
};

/** Devices of one platform or of one previous version; the name is empty if unknown. */
type NamedShare = SignalShare & { readonly name: string };

/** The five platforms or versions with most devices that show the signal, and all others together. */
export type SignalPlaces = {
  readonly named: readonly NamedShare[];
  /** Null if there are no others. */
  readonly others: SignalShare | null;
};

/** One signal among the examined devices: in all, by platform, and by version. */
export type SignalBreakdown = SignalShare & {
  readonly platforms: SignalPlaces;
  /** By the version before the release; devices that have not installed it count by their present version. */
  readonly versions: SignalPlaces;
};

/** Devices that failed for one reason. */
export type FailureReason = {
  /** Text as devices sent it, at most 256 characters; null for devices that sent none. */
  readonly reason: string | null;
  readonly devices: number;
  /** Time of the latest failure with this reason, RFC 3339. */
  readonly at: string;
};

/** Devices that had installed a release by a certain age of it, and devices that had been offered it. */
export type AdoptionAtAge = {
  /** Whole hours since the release was published. */
  readonly hours: number;
  readonly devices: number;
  readonly offered: number;
};

/** Adoption of a release at equally spaced ages. */
export type AdoptionCurve = {
  readonly version: string;
  /** Empty if its installations were not recorded, or their records were deleted. */
  readonly ages: readonly AdoptionAtAge[];
};

/** Adoption of a release, and of the previous one at the same ages. */
export type ReleaseAdoption = {
  readonly release: AdoptionCurve;
  /** Last release published on the channel before it that is not rolled back; null if there is none. */
  readonly before: AdoptionCurve | null;
};
