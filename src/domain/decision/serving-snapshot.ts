// Serving state of a channel at one revision, as plain data. Nodes read it from the ledger in one statement,
// share it through Redis, keep it on disk to restart without stores, and compile a catalog from it.

import type {
  Artifact,
  ChannelUpdateMode,
  DdiAuth,
  DdiSettings,
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
  /** Grows with every change to what the channel serves. */
  readonly revision: number;
  readonly updateMode: ChannelUpdateMode;
  readonly minimumSupportedVersion: string | null;
  /** Whether devices get only artifacts with a URL and a signature. */
  readonly requireSignature: boolean;
  /** Channel whose releases are served as well; null if there is none. */
  readonly follows: string | null;
  /** Settings of DDI; null if the channel answers none. */
  readonly ddi: DdiSettings | null;
  /** How devices that speak DDI authenticate to the app; null if nobody has said so. */
  readonly ddiAuth: DdiAuth | null;
  /**
   * Releases of the channel, then those of the followed channel except versions that the channel has itself;
   * each group oldest first: by creation, then by id.
   */
  readonly releases: readonly SnapshotRelease[];
};

export type SnapshotRelease = {
  readonly id: string;
  /**
   * Identifies this state of the release. Two releases with the same edition differ in `offered` at most, and
   * in `followed` between channels. Every other change gives a new edition, which is never reused.
   */
  readonly edition: string;
  readonly version: string;
  readonly notes: string;
  readonly status: ReleaseStatus;
  readonly rolloutPct: number;
  readonly targets: Targeting | null;
  readonly offered: boolean;
  /** Whether the release belongs to the followed channel. */
  readonly followed: boolean;
  /** RFC 3339, UTC, milliseconds. */
  readonly createdAt: string;
  /** Number that the release got in its app, from 1; the ids of actions begin with it. */
  readonly number: number;
  /** When devices that closed an action for it were last told to try again; null before. As `createdAt`. */
  readonly retriedAt: string | null;
  /** An artifact's `sha256` may come from a code-hosting service. */
  readonly artifacts: readonly Artifact[];
};

/** Counts the releases that were offered. The count only grows within one revision. */
export function countOffered(snapshot: ServingSnapshot): number {
  let count = 0;
  for (const release of snapshot.releases) if (release.offered) count += 1;
  return count;
}

// Order of the states of a channel. Revisions order them while the ledger only moves forward. A ledger that
// went back (failover to a standby that lacks the last commits, a restored backup) reuses revisions; its
// epoch is raised then, and counts before the revision.

/** Position of a channel's state among all its states. */
export type ServingOrder = {
  /** Number of the ledger's time line, from 0; raised when the ledger has gone back to an earlier state. */
  readonly epoch: number;
  /** Grows with every change to what the channel serves, within an epoch. */
  readonly revision: number;
};

/** Compares two states of one channel: negative if `a` is older, positive if it is newer. */
export function compareServing(a: ServingOrder, b: ServingOrder): number {
  return a.epoch - b.epoch || a.revision - b.revision;
}

/**
 * Compares two copies of one channel: by state, then by the number of offered releases, which only grows
 * within a state.
 */
export function compareSnapshots(a: ServingSnapshot, b: ServingSnapshot): number {
  return compareServing(a, b) || countOffered(a) - countOffered(b);
}

/** Returns only the epoch and the revision. */
export function orderOf({ epoch, revision }: ServingOrder): ServingOrder {
  return { epoch, revision };
}
