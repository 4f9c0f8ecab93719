// Effect of a code host's retraction of a release: it deletes or unpublishes it, turns it into a pre-release,
// or gives it another tag.

import type { StandingRelease } from './announcement.ts';
import { type HostMemory, type HostRelease, isBefore, laterOf } from './host-release.ts';

/** Event that retracts a release. */
export type Retraction = {
  readonly host: HostRelease;
  readonly way: 'deleted' | 'unpublished' | 'prereleased' | 'renamed';
  /** Whether it deletes a draft, which is the standing release only if the ids are equal. */
  readonly isDraft: boolean;
};

/** Effect of a retraction: see `judgeRetraction`. */
export type RetractionOutcome = 'paused' | 'unserved' | 'older' | 'another' | 'not-announced';

/**
 * Decides the effect of a retraction on the standing release: `paused`; or `unserved`, so that a release that
 * is not served is not published later. The others change nothing: a later event has been applied (`older`),
 * the event is about another release, or the standing one did not come from a code host.
 */
export function judgeRetraction(
  { isAnnounced, status, host: standing }: StandingRelease<unknown>,
  { host, way, isDraft }: Retraction,
): RetractionOutcome {
  if (!isAnnounced) return 'not-announced';
  if (!isMeant(standing, host, isDraft)) return 'another';
  // The event is about a later publication: a change of its tag or kind does not concern the standing one.
  const isRenewed = isBefore(standing.publishedAt, host.publishedAt);
  if (isRenewed && !isWithdrawal(way)) return 'another';
  if (isBefore(host.publishedAt, standing.publishedAt)) return 'older';
  if (isBefore(host.changedAt, standing.changedAt)) return 'older';
  return status === 'published' ? 'paused' : 'unserved';
}

/** Returns whether a release is gone for all channels, not only for `stable`. */
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
 * Returns what to store after a retraction that arrives at `nowMs`, so that a late announcement of that
 * release has no effect; undefined if the event has nothing to recognise the release by.
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
