// Order of the states of a channel. Revisions order them as long as the ledger only moves forward. A ledger
// that went back (a standby without the last commits took over, a backup was restored) gives its old
// revisions out a second time; its epoch is raised then, and counts before the revision.

import { countOffered, type ServingSnapshot } from './serving-snapshot.ts';

/** Place of a channel's state among all its states. */
export type ServingOrder = {
  /** Number of the ledger's time line, from 0; raised whenever the ledger is found to have gone back. */
  readonly epoch: number;
  /** Number that grows with every change to what the channel serves, within an epoch. */
  readonly revision: number;
};

/** Compares two states of one channel: negative when `a` is the older one, positive when it is the newer. */
export function compareServing(a: ServingOrder, b: ServingOrder): number {
  return a.epoch - b.epoch || a.revision - b.revision;
}

/**
 * Compares two copies of one channel: by their states, then by the number of offered releases, which only
 * grows within a state.
 */
export function compareSnapshots(a: ServingSnapshot, b: ServingSnapshot): number {
  return compareServing(a, b) || countOffered(a) - countOffered(b);
}

/** Returns the place alone of anything that has one. */
export function orderOf({ epoch, revision }: ServingOrder): ServingOrder {
  return { epoch, revision };
}
