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
   * Silent devices and their base that are compared with the others: both groups were seen since the step
   * began that reached most of the base. Undefined if that is all of the base.
   */
  readonly compared?: NetworkPart | undefined;
  /** Number of devices that each examined one stands for; 1 if all were examined. */
  readonly scale: number;
  readonly others: SilentOthers;
  readonly networks: Readonly<Record<Signal, SignalNetworks>>;
};

/** Devices of one network: those that show a signal, and those that could. */
type NetworkPart = { readonly hits: number; readonly base: number };

/** Networks of the devices that show a signal. */
export type SignalNetworks = {
  /** Number of networks that the signal comes from, among the examined devices. */
  readonly count: number;
  /** Some networks, those whose removal lowers the signal most. */
  readonly largest: readonly NetworkPart[];
};

/**
 * The channel's other examined devices that had as much time to fall silent, those that did, and the number
 * of devices that each stands for.
 */
export type SilentOthers = {
  readonly devices: number;
  readonly silent: number;
  readonly scale: number;
};

const NO_NETWORKS: SignalNetworks = { count: 0, largest: [] };

/** Counts of a release without any record. */
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
