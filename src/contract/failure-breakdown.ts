// What the console tells of a release beside its health: where its signals come from, what devices said of
// their failures, and how it spreads beside the release before it.

import type { Signal } from './rollout-plan.ts';

/** Failure breakdown of a release: what fails, and where. Devices count that its health counts. */
export type FailureBreakdown = {
  readonly signals: Readonly<Record<Signal, SignalBreakdown>>;
  /** Number of devices that each of those that were looked at stands for; 1 when all were. */
  readonly scale: number;
  /** Most frequent reasons of the newest 10,000 failures that the health counts, at most 20. */
  readonly reasons: readonly FailureReason[];
};

/** Devices that show a signal, of those that could. */
export type SignalShare = {
  readonly devices: number;
  readonly base: number;
};

/** Devices of one platform, or of one version before; the name is empty where it is not known. */
type NamedShare = SignalShare & { readonly name: string };

/** Places of the devices: the five names with the most devices that show the signal, and all others. */
export type SignalPlaces = {
  readonly named: readonly NamedShare[];
  /** All other names together; null when there are none. */
  readonly others: SignalShare | null;
};

/** Signal among the devices that were looked at. */
export type SignalBreakdown = SignalShare & {
  readonly platforms: SignalPlaces;
  /** By the version that the devices had before; of those that never came to the release, the present one. */
  readonly versions: SignalPlaces;
};

/** Reason that devices gave for their failure; null for none. */
export type FailureReason = {
  /** Text as devices sent it: at most 256 characters, to be shown as it is. */
  readonly reason: string | null;
  readonly devices: number;
  /** When a device gave it last, RFC 3339. */
  readonly at: string;
};

/** Devices that had installed a release when it was so old. */
export type AdoptionAtAge = {
  /** Whole hours since the release was published. */
  readonly hours: number;
  readonly devices: number;
};

/** How a release spread: at equal distances of age, the last one its present age, or the other's. */
export type AdoptionCurve = {
  readonly version: string;
  /** Empty when its installations were not counted, or are not kept any more. */
  readonly ages: readonly AdoptionAtAge[];
};

/** How a release spreads, beside the one before it at the same age. */
export type ReleaseAdoption = {
  readonly release: AdoptionCurve;
  /** Release that was published before it on the channel and not rolled back; null when there is none. */
  readonly before: AdoptionCurve | null;
  /** Devices that the channel and its followers have now. */
  readonly fleet: number;
};
