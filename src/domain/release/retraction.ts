// What becomes of a release whose code host takes it back: it deletes or unpublishes it, makes it a
// pre-release again, or gives it another tag.

import type { StandingRelease } from './announcement.ts';
import { type HostMemory, type HostRelease, isBefore, laterOf } from './host-release.ts';

/** Event that retracts a release. */
export type Retraction = {
  readonly host: HostRelease;
  readonly way: 'deleted' | 'unpublished' | 'prereleased' | 'renamed';
  /** Whether a draft was deleted, which is no release of this version unless it has its id. */
  readonly isDraft: boolean;
};

/** What became of a release that was retracted: see `judgeRetraction`. */
export type RetractionOutcome = 'paused' | 'unserved' | 'older' | 'another' | 'not-announced';

/**
 * Decides what a retraction does to the release that stands under its version: it is `paused`, or kept from
 * being published where it is not served (`unserved`); nothing when a later event was taken, when it is
 * another release, or when it did not come from a code host.
 */
export function judgeRetraction(
  { isAnnounced, status, host: standing }: StandingRelease<unknown>,
  { host, way, isDraft }: Retraction,
): RetractionOutcome {
  if (!isAnnounced) return 'not-announced';
  if (!isMeant(standing, host, isDraft)) return 'another';
  // It was published anew since, and what kind it is now says nothing of what it was before.
  const isRenewed = isBefore(standing.publishedAt, host.publishedAt);
  if (isRenewed && !isWithdrawal(way)) return 'another';
  if (isBefore(host.publishedAt, standing.publishedAt)) return 'older';
  if (isBefore(host.changedAt, standing.changedAt)) return 'older';
  return status === 'published' ? 'paused' : 'unserved';
}

/** Whether a release is gone for all channels, and not only for `stable`. */
export function isWithdrawal(way: Retraction['way']): boolean {
  return way === 'deleted' || way === 'unpublished';
}

function isMeant(
  standing: StandingRelease<unknown>['host'],
  host: HostRelease,
  isDraft: boolean,
): boolean {
  if (standing.provider !== null && standing.provider !== host.provider) return false;
  if (standing.id === null || host.id === null) return !isDraft;
  return standing.id === host.id;
}

/**
 * Returns what is remembered after a retraction that is heard of at `nowMs`, so that a late announcement of
 * what is gone does nothing; undefined when there is nothing to tell it by.
 */
export function rememberRetraction<Item>(
  { host, way }: Retraction,
  before: HostMemory<Item> | undefined,
  nowMs: number,
): HostMemory<Item> | undefined {
  const isDeletion = way === 'deleted';
  if (host.id === null || (!isDeletion && host.changedAt === null)) return undefined;
  const known = before ?? { deletedAt: null, publishedAt: null, retractedAt: null, files: null };
  const retractedAt = laterOf(known.retractedAt, host.changedAt);
  if (!isDeletion) return { ...known, retractedAt };
  const publishedAt = laterOf(known.publishedAt, host.publishedAt);
  return { ...known, deletedAt: nowMs, publishedAt, retractedAt };
}
