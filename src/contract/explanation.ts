// Why a device is offered a release or not: the reasons, and the explanation of a decision for programs
// (docs/contract.md 4.20). The console has `ExplainedDecision`, with sentences for people.

import type { Answer } from './answer-shape.ts';

// Reasons for whole decisions and for single releases. Decisions, metrics and the console share these types,
// so that the compiler finds a reason that one of them does not cover.

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

/** Reason of a decision that is explained; the last two are of devices that speak DDI. */
export type ShownReason = Reason | 'unknown-version' | 'barred';

/** Verdict on one release in an explanation. */
export type Verdict =
  | 'offered'
  | 'no-artifact'
  | ReleaseObstacle
  | 'barred'
  | 'paused'
  | 'deprecated'
  | 'rolled-back';

/** Decision for a device as recorded, or as the caller describes it, with the verdict on each release. */
export type Explanation = Answer<'Explanation'>;
export type ExplainedReason = Explanation['decision']['reason'];
export type ListedCandidate = Explanation['candidates'][number];
