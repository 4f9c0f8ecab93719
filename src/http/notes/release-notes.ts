// Releases that a channel publishes in its release-notes feed (docs/contract.md 16.9), and the interface of
// the formats in which a feed is written.

import { LIMIT } from '../../contract/limit.ts';
import type { Artifact, Release } from '../../contract/resource.ts';
import type { ServingSnapshot } from '../../domain/decision/serving-snapshot.ts';

export type ReleaseNotes = {
  /** Ref of the app. */
  readonly app: string;
  readonly channel: string;
  /** Published releases, newest first: by time of creation, then by id. */
  readonly releases: readonly Release[];
};

/** Name of a format in which feeds are written. */
export type FeedName = 'json' | 'rss';

/** What a feed tells beside its releases. */
export type FeedHead = {
  /** Ref of the app. */
  readonly app: string;
  readonly channel: string;
  /** Time of creation of the newest release; undefined when there is none. */
  readonly newestAt: string | undefined;
  /** Base URL of the service, without a slash at its end. */
  readonly address: string;
};

/** Function that writes notes as HTML. */
export type WriteNotes = (notes: string) => string;

/** Serialisation of a feed in pieces, one per release. */
export type ReleaseNotesFormat = {
  /** Text before the first release. */
  readonly open: (feed: FeedHead) => string;
  readonly item: (feed: FeedHead, release: Release, toHtml: WriteNotes) => string;
  /** Text between two releases. */
  readonly separator: string;
  /** Text after the last release. */
  readonly close: string;
};

/** Returns the newest published releases of a channel itself, at most 50. */
export function releaseNotesOf(snapshot: ServingSnapshot): ReleaseNotes {
  const { appRef: app, channel } = snapshot;
  const releases: Release[] = [];
  for (let index = snapshot.releases.length - 1; index >= 0; index--) {
    const release = snapshot.releases[index];
    if (release?.status !== 'published' || release.followed) continue;
    const { id, version, notes, status, rolloutPct, createdAt } = release;
    const artifacts = release.artifacts.map(toContract);
    releases.push({ id, app, channel, version, notes, status, rolloutPct, createdAt, artifacts });
    if (releases.length === LIMIT.feedReleasesMax) break;
  }
  return { app, channel, releases };
}

/** Returns an artifact with the contract's fields alone: what else is known of it is for updaters. */
function toContract({ platform, arch, url, sha512, size, signature }: Artifact): Artifact {
  return {
    platform,
    ...(arch === undefined ? {} : { arch }),
    ...(url === undefined ? {} : { url }),
    ...(sha512 === undefined ? {} : { sha512 }),
    ...(size === undefined ? {} : { size }),
    ...(signature === undefined ? {} : { signature }),
  };
}
