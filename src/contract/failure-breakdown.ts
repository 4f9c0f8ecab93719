// Details of a release beside its health: where its signals come from, why devices failed, and how it spreads
// compared with the previous release.

import type { Signal } from './rollout-plan.ts';

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
