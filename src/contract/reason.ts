// The words for why a device is offered a release, or is not: of a whole decision and of single releases.
// Decisions, metrics and the console share them, so that each of them answers for all reasons there are.

/** Reason of a decision rule: why a device is not offered one release. */
export type RuleReason = 'not-targeted' | 'outside-cohort';

/** Why a device is not offered a release that has an artifact for it. */
export type ReleaseObstacle = RuleReason | 'first-offer-unavailable';

/** Why a device is offered nothing at all. */
export type NoOfferReason =
  | 'up-to-date'
  | 'no-artifact'
  | 'rolled-back-without-fallback'
  | ReleaseObstacle;

/** Reason of the answer to an update check. */
export type Reason = 'offered' | NoOfferReason;

/** What an explanation says of one release. */
export type Verdict =
  | 'offered'
  | 'no-artifact'
  | ReleaseObstacle
  | 'paused'
  | 'deprecated'
  | 'rolled-back';
