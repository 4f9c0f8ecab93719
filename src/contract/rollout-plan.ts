// Rollout plans, the health of a release, and its details (docs/contract.md 27).

import type { Answer } from './answer-shape.ts';

export type PlanStatus = RolloutPlan['status'];

export const PLAN_ACTIONS = ['hold', 'resume', 'advance', 'cancel'] as const;
/** Action of a person or a key on a plan. */
export type PlanAction = (typeof PLAN_ACTIONS)[number];

/** Reasons of plans that a person or a key has steered: they only repeat the action. */
export const BARE_REASON = { hold: 'Held', cancel: 'Cancelled' } as const;

/** Sign that a release harms devices. */
export type Signal = keyof Health['rates'];

/** Effect of a tripped guard: it holds the plan, or also pauses the release. */
export type TripEffect = RolloutPlan['onTrip'];

/**
 * What a plan does at the end of a hold if a guard with a limit has too few devices to judge: it waits and is
 * finally held, or continues.
 */
export type BlindEffect = RolloutPlan['onBlind'];

/** Names of ready-made plans, the slowest first. */
export type PlanPresetName = NamedPreset['name'];

/** Hours of the week in which steps may begin. */
export type RaiseHours = NonNullable<RolloutPlan['raiseBetween']>;

/** What a running plan waits for after its hold. */
export type PlanWait = NonNullable<RolloutPlan['waitingFor']>;

/** Wait for a guard or a region. */
type OpenEndedWait = PlanWait & ({ readonly guard: Signal } | { readonly region: string });

/** Returns whether a plan waits for something whose end is not known: for anything but its hours. */
export function isOpenEnded(wait: PlanWait | null): wait is OpenEndedWait {
  return wait !== null && (wait.guard !== null || wait.region !== undefined);
}

/** Limits of signals in percent, and how signals are measured; a signal without a limit never trips. */
export type PlanGuards = NamedPreset['guards'];

/** Step of a plan before it is driven. */
export type PlannedStep = NamedPreset['steps'][number];

/**
 * Step with its start and end, RFC 3339; for a step that the rollout reached without it, the time when it was
 * found reached.
 */
export type PlanStep = RolloutPlan['steps'][number];
export type RolloutPlan = Answer<'RolloutPlan'>;

/** Plan that is not stored, as a dry run shows it. */
export type UnstoredPlan = Answer<'RehearsedPlan'>['plan'];
export type NamedPreset = Answer<'PlanPresets'>['presets'][number];

/**
 * Rate of a signal with the ends of its 95 % interval, in percent with one decimal. For `silent` it is the
 * difference from the rate of the other devices, if that is known.
 */
export type SignalRate = Health['rates'][Signal];

/** Health of a release, from the check-ins of known devices. */
export type Health = Answer<'Health'>;

// Details of a release beside its health: where its signals come from, why devices failed, and how it spreads
// compared with the previous release.

/** Failures of a release by place and reason, for the same devices as its health. */
export type FailureBreakdown = {
  readonly signals: Readonly<Record<Signal, SignalBreakdown>>;
  /** Number of devices that each examined one stands for; 1 if all were examined. */
  readonly scale: number;
  /** Most frequent reasons of the newest 10,000 failures that the health counts, at most 20. */
  readonly reasons: readonly FailureReason[];
};

/** Devices that show a signal, of those that could. */
export type SignalShare = {
  readonly devices: number;
  readonly base: number;
};

/** Devices of one platform or of one previous version; the name is empty if unknown. */
type NamedShare = SignalShare & { readonly name: string };

/** The five names with the most devices that show the signal, and all others together. */
export type SignalPlaces = {
  readonly named: readonly NamedShare[];
  /** Null if there are none. */
  readonly others: SignalShare | null;
};

/** Signal among the examined devices. */
export type SignalBreakdown = SignalShare & {
  readonly platforms: SignalPlaces;
  /** By previous version; by present version for devices that never installed the release. */
  readonly versions: SignalPlaces;
};

/** Reason that devices gave for their failure; null for none. */
export type FailureReason = {
  /** Text as devices sent it, at most 256 characters. */
  readonly reason: string | null;
  readonly devices: number;
  /** Time of the latest failure with this reason, RFC 3339. */
  readonly at: string;
};

/** Devices that had installed a release at an age, and those that were offered it. */
export type AdoptionAtAge = {
  /** Whole hours since the release was published. */
  readonly hours: number;
  readonly devices: number;
  readonly offered: number;
};

/** Adoption of a release at equally spaced ages, up to its own or the other's present age. */
export type AdoptionCurve = {
  readonly version: string;
  /** Empty if its installations were not counted, or were deleted since. */
  readonly ages: readonly AdoptionAtAge[];
};

/** Adoption of a release, and of the previous one at the same ages. */
export type ReleaseAdoption = {
  readonly release: AdoptionCurve;
  /** Release that was published before it on the channel and not rolled back; null if there is none. */
  readonly before: AdoptionCurve | null;
};
