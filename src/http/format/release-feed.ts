// The releases a channel tells the public about (contract 4.9 and 4.10), and what a way to write them down
// consists of.

import { LIMIT } from '../../contract/limit.ts';
import type { Artifact, Release } from '../../contract/resource.ts';
import type { ServingSnapshot, SnapshotArtifact } from '../../domain/serving-snapshot.ts';

export type ReleaseFeed = {
  /** The app's ref. */
  readonly app: string;
  readonly channel: string;
  /** Published ones, newest first: by creation, then by id. */
  readonly releases: readonly Release[];
};

/** In pieces, one per release: a feed may be large, and is not written without a break. */
export type FeedFormat = {
  readonly contentType: string;
  /** What stands before the first release. */
  open(feed: ReleaseFeed): string;
  item(feed: ReleaseFeed, release: Release): string;
  /** What stands between two releases. */
  readonly separator: string;
  /** What stands behind the last one. */
  readonly close: string;
};

/** The newest published releases of a channel, at most 50. */
export function releaseFeed(snapshot: ServingSnapshot): ReleaseFeed {
  const { appRef: app, channel } = snapshot;
  const releases: Release[] = [];
  for (let index = snapshot.releases.length - 1; index >= 0; index--) {
    const release = snapshot.releases[index];
    if (release?.status !== 'published') continue;
    const { id, version, notes, status, rolloutPct, createdAt } = release;
    const artifacts = release.artifacts.map(toContract);
    releases.push({ id, app, channel, version, notes, status, rolloutPct, createdAt, artifacts });
    if (releases.length === LIMIT.feedReleasesMax) break;
  }
  return { app, channel, releases };
}

function toContract({ sha256: _, ...artifact }: SnapshotArtifact): Artifact {
  return artifact;
}
