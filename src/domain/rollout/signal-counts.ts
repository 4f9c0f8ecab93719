// Device counts of a release that its health is judged by.

import type { Signal } from '../../contract/rollout-plan.ts';

/**
 * Numbers of devices of a release, all of them known long enough before it was published. A base counts the
 * devices that could show the signal by now.
 */
export type SignalCounts = {
  readonly offered: number;
  readonly installed: number;
  readonly failed: number;
  readonly reverted: number;
  /** Stuck and silent devices among those examined. */
  readonly stuck: number;
  readonly silent: number;
  /** Examined devices that were offered the release long enough ago to be stuck. */
  readonly stuckBase: number;
  /** Examined devices that installed the release, or were offered it, long enough ago to be silent. */
  readonly silentBase: number;
  /**
   * Part of `silent` and `silentBase` that is compared with the others: devices seen since the beginning of
   * the step that reached most of the base, as the others were. Undefined if that is all of the base.
   */
  readonly compared?: SignalPart | undefined;
  /** Number of devices that each examined one stands for; 1 if all were examined. */
  readonly scale: number;
  readonly others: OtherDevices;
  readonly networks: Readonly<Record<Signal, SignalNetworks>>;
};

/** Devices that show a signal, and those that could. */
type SignalPart = { readonly hits: number; readonly base: number };

/** Devices of one network: the amounts by which a signal's counts fall without them. */
export type NetworkPart = SignalPart & {
  /** Its devices among the others, and the silent ones of these; only for the signal `silent`. */
  readonly others?: number;
  readonly silentOthers?: number;
};

/** Networks of the devices of a signal. Devices that were reported with a key belong to none. */
export type SignalNetworks = {
  /** Number of networks that the signal comes from, among the examined devices. */
  readonly count: number;
  /**
   * Every network of the base (and of the others), except those that can make no difference: of networks with
   * equal bases (and others), only one with the most hits.
   */
  readonly parts: readonly NetworkPart[];
};

/** Some of a channel's other devices, those of them that fell silent, and the number that each stands for. */
export type OtherDevices = {
  readonly devices: number;
  readonly silent: number;
  readonly scale: number;
};

/** The channel's other examined devices that had as much time to fall silent. */
export type SilentOthers = OtherDevices & {
  /**
   * Counts from the last check at which enough others were left without each network: the largest share of
   * silent ones and the fewest devices that were left without one; undefined before.
   */
  readonly without?: OtherDevices | undefined;
};

const NO_NETWORKS: SignalNetworks = { count: 0, parts: [] };

/** Counts of a release of which nothing is on record. */
export const NO_SIGNALS: SignalCounts = {
  offered: 0,
  installed: 0,
  failed: 0,
  reverted: 0,
  stuck: 0,
  silent: 0,
  stuckBase: 0,
  silentBase: 0,
  scale: 1,
  others: { devices: 0, silent: 0, scale: 1 },
  networks: {
    failed: NO_NETWORKS,
    reverted: NO_NETWORKS,
    stuck: NO_NETWORKS,
    silent: NO_NETWORKS,
  },
};
