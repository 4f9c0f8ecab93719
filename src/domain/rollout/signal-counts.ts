// Figures of a release that its health is judged by.

import type { Signal } from '../../contract/rollout-plan.ts';

/**
 * Numbers of devices of a release, all of them known long enough before it was published. Bases are those
 * that a signal could have shown by now.
 */
export type SignalCounts = {
  readonly offered: number;
  readonly installed: number;
  readonly failed: number;
  readonly reverted: number;
  /** Stuck ones and silent ones of the devices that were looked at. */
  readonly stuck: number;
  readonly silent: number;
  /** Devices that were looked at and offered the release long enough ago to be stuck. */
  readonly stuckBase: number;
  /** Devices that were looked at and installed the release, or were offered it, long enough ago. */
  readonly silentBase: number;
  /**
   * Silent ones and their base of those that are compared with the others: seen, as these, since the step
   * began in which most of the base was reached. Undefined when that are all.
   */
  readonly compared?: NetworkPart | undefined;
  /** Number of devices that each of those that were looked at stands for; 1 when all were. */
  readonly scale: number;
  readonly others: SilentOthers;
  readonly networks: Readonly<Record<Signal, SignalNetworks>>;
};

/** Devices of one network: those that show a signal, and those that could, as the counts have them. */
type NetworkPart = { readonly hits: number; readonly base: number };

/** Networks of the devices that show a signal. */
export type SignalNetworks = {
  /** Number of networks from which it comes, of those that were looked at. */
  readonly count: number;
  /** Networks without which the signal would be the smallest: some are enough. */
  readonly largest: readonly NetworkPart[];
};

/**
 * The channel's other devices that were looked at and had as much time to fall silent, those of them that
 * did, and how many each stands for.
 */
export type SilentOthers = {
  readonly devices: number;
  readonly silent: number;
  readonly scale: number;
};

const NO_NETWORKS: SignalNetworks = { count: 0, largest: [] };

/** Counts of a release of which nothing is recorded yet. */
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
