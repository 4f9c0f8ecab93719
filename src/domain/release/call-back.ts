// What becomes of a release whose code host takes it back: it deletes or unpublishes it, makes it a
// pre-release again, or gives it another tag.

import type { StandingRelease } from './announcement.ts';
import { type HostMemory, type HostRelease, isBefore, laterOf } from './host-release.ts';

/** Event that calls a release back. */
export type CallBack = {
  readonly host: HostRelease;
  readonly way: 'deleted' | 'unpublished' | 'prereleased' | 'renamed';
  /** Whether a draft was deleted, which is no release of this version unless it has its id. */
  readonly isDraft: boolean;
};

/** What became of a release that was called back: see `takeCallBack`. */
export type CalledBack = 'paused' | 'unserved' | 'older' | 'another' | 'not-announced';

/**
 * Decides what a call-back does to the release that stands under its version: it is `paused`, or kept from
 * being published where it is not served (`unserved`); nothing when a later event was taken, when it is
 * another release, or when it did not come from a code host.
 */
export function takeCallBack(
  { isAnnounced, status, host: standing }: StandingRelease<unknown>,
  { host, way, isDraft }: CallBack,
): CalledBack {
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
export function isWithdrawal(way: CallBack['way']): boolean {
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
 * Returns what is remembered after a call-back that is heard of at `nowMs`, so that a late announcement of
 * what is gone does nothing; undefined when there is nothing to tell it by.
 */
export function rememberCallBack<Item>(
  { host, way }: CallBack,
  before: HostMemory<Item> | undefined,
  nowMs: number,
): HostMemory<Item> | undefined {
  const isDeletion = way === 'deleted';
  if (host.id === null || (!isDeletion && host.changedAt === null)) return undefined;
  const known = before ?? { deletedAt: null, publishedAt: null, calledBackAt: null, files: null };
  const calledBackAt = laterOf(known.calledBackAt, host.changedAt);
  if (!isDeletion) return { ...known, calledBackAt };
  const publishedAt = laterOf(known.publishedAt, host.publishedAt);
  return { ...known, deletedAt: nowMs, publishedAt, calledBackAt };
}
