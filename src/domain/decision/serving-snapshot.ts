// The serving state of a channel at one revision, as plain data. It is read from the ledger in one statement,
// shared through the engine, and kept on disk for a restart without stores. A catalog is compiled from it.

import type {
  Artifact,
  ChannelUpdateMode,
  ReleaseStatus,
  Targeting,
} from '../../contract/resource.ts';

export type ServingSnapshot = {
  readonly appId: string;
  readonly appRef: string;
  readonly channelId: string;
  readonly channel: string;
  /** Number of the ledger's time line; it counts before the revision (`ServingOrder`). */
  readonly epoch: number;
  /** Number that grows with every change to what the channel serves. */
  readonly revision: number;
  readonly updateMode: ChannelUpdateMode;
  readonly minimumSupportedVersion: string | null;
  /** Whether devices get no artifact without an address and a signature. */
  readonly requireSignature: boolean;
  /** Channel whose releases are served as well; null when there is none. */
  readonly follows: string | null;
  /**
   * Releases of the channel, then those of the one that it follows without the versions that it has itself;
   * each of them oldest first: by creation, then by id.
   */
  readonly releases: readonly SnapshotRelease[];
};

export type SnapshotRelease = {
  readonly id: string;
  /**
   * Name of this state of the release: two releases with the same edition differ in `offered` at most, and
   * in `followed` between channels. Every other change gives the release another edition, which never comes
   * again.
   */
  readonly edition: string;
  readonly version: string;
  readonly notes: string;
  readonly status: ReleaseStatus;
  readonly rolloutPct: number;
  readonly targets: Targeting | null;
  readonly offered: boolean;
  /** Whether the release is of the channel that this one follows. */
  readonly followed: boolean;
  /** RFC 3339, UTC, milliseconds. */
  readonly createdAt: string;
  /** The `sha256` of one may have come from a code-hosting service. */
  readonly artifacts: readonly Artifact[];
};

/** Counts the releases that were offered. Within one revision the count only grows. */
export function countOffered(snapshot: ServingSnapshot): number {
  let count = 0;
  for (const release of snapshot.releases) if (release.offered) count += 1;
  return count;
}

// Order of the states of a channel. Revisions order them as long as the ledger only moves forward. A ledger
// that went back (a standby without the last commits took over, a backup was restored) gives its old
// revisions out a second time; its epoch is raised then, and counts before the revision.

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
