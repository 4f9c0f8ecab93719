// What widens the exposure of a release, and so waits for an approval on a channel that asks for one
// (docs/contract.md 33.2, 33.4 and 33.11): more devices may be offered it than before, now or later.

import type { ApprovalMode, DdiSettings } from '../../contract/resource.ts';
import type { PlanAction, PlanStatus } from '../../contract/rollout-plan.ts';
import { compareVersions, parseVersion } from '../decision/version.ts';
import { mayReachMore } from './broadening.ts';
import type { Serving } from './serving-change.ts';

/** Newest plan of a release. */
export type PlanMark = {
  readonly id: string;
  readonly status: PlanStatus;
  readonly step: number | null;
};

/** How a release is served, with its newest plan; null if it never had one. */
export type ExposedRelease = Pick<Serving, 'status' | 'rolloutPct' | 'targets'> & {
  readonly plan: PlanMark | null;
};

/** Settings of a channel that bound the exposure of its releases. */
export type ExposingPolicy = {
  readonly defaultRollout: number;
  readonly requireSignature: boolean;
  readonly follows: string | null;
  readonly approvals: ApprovalMode;
  readonly minimumSupportedVersion: string | null;
  readonly ddi: Pick<DdiSettings, 'unknownVersion'> | null;
};

/** Change of a release (null before it exists), or of a channel's settings. */
export type ExposureChange =
  | {
      readonly kind: 'release';
      readonly before: ExposedRelease | null;
      readonly after: ExposedRelease;
      /** What the call does to the release's present plan, if anything. */
      readonly steered?: PlanAction;
    }
  | {
      readonly kind: 'channel';
      readonly before: ExposingPolicy;
      readonly after: ExposingPolicy;
      /** Whether the channel that is followed afterwards asks for approvals itself. */
      readonly isFollowedProtected: boolean;
    };

/**
 * Returns whether a change lets a release reach more devices than before, even if it also narrows something.
 */
export function widens(change: ExposureChange): boolean {
  if (change.kind === 'channel') return widensPolicy(change);
  const { before, after, steered } = change;
  if (steered === 'resume' || steered === 'advance') return true;
  const isPlanned = after.plan !== null && after.plan.id !== before?.plan?.id;
  if (before === null) return isPlanned || (after.status === 'published' && after.rolloutPct > 0);
  return (
    isPlanned ||
    after.rolloutPct > before.rolloutPct ||
    (after.status === 'published' && before.status !== 'published') ||
    mayReachMore(before.targets, after.targets)
  );
}

/**
 * Returns whether a change of settings changes which releases devices can be offered, so that only a
 * comparison of what the channel serves tells whether it widens (`decision/serving-comparison.ts`).
 */
export function movesReleases(before: ExposingPolicy, after: ExposingPolicy): boolean {
  return before.follows !== after.follows || before.requireSignature !== after.requireSignature;
}

function widensPolicy({
  before,
  after,
  isFollowedProtected,
}: Extract<ExposureChange, { kind: 'channel' }>): boolean {
  const followsAnother = after.follows !== null && after.follows !== before.follows;
  return (
    after.defaultRollout > before.defaultRollout ||
    (before.requireSignature && !after.requireSignature) ||
    (followsAnother && !isFollowedProtected) ||
    (before.approvals !== 'none' && after.approvals === 'none') ||
    (before.ddi === null && after.ddi !== null) ||
    (before.ddi?.unknownVersion !== 'offer' && after.ddi?.unknownVersion === 'offer') ||
    requiresMore(before, after)
  );
}

function requiresMore(before: ExposingPolicy, after: ExposingPolicy): boolean {
  const [then, now] = [before, after].map(({ minimumSupportedVersion }) =>
    parseVersion(minimumSupportedVersion ?? ''),
  );
  return now !== undefined && (then === undefined || compareVersions(now, then) > 0);
}
