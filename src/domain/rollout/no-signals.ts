// Counts of a release of which nothing is recorded yet.

import type { SignalCounts, SignalNetworks } from './signal-counts.ts';

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
