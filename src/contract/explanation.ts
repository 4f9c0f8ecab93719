// Why a device is offered a release or not: the reasons, and the explanation of a decision for programs
// (docs/contract.md 4.20). The console has its own, in sentences.

import type { DeviceClient, ReleaseStatus, TargetExpression, UpdateManifest } from './resource.ts';

// Reasons why a device is offered a release or not, for whole decisions and single releases. Decisions,
// metrics and the console share them, so that each covers all reasons.

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

/** Verdict on one release in an explanation. */
export type Verdict =
  | 'offered'
  | 'no-artifact'
  | ReleaseObstacle
  | 'paused'
  | 'deprecated'
  | 'rolled-back';

/** Decision for a device's recorded question, or for the caller's description. */
export type Explanation = {
  readonly decision: { readonly update: UpdateManifest | null; readonly reason: ExplainedReason };
  readonly device: ExplainedDevice;
  /** Releases that were considered, highest version first, down to the offered one. */
  readonly candidates: readonly ListedCandidate[];
};

export type ExplainedReason = 'offered' | Exclude<NoOfferReason, 'first-offer-unavailable'>;

/** Device of the decision: the record, overridden by the caller's description. */
type ExplainedDevice = {
  readonly deviceId: string | null;
  readonly channel: string;
  readonly platform: string;
  readonly arch: string | null;
  readonly version: string | null;
  readonly client: DeviceClient;
  readonly bundle: string | null;
  readonly labels: Readonly<Record<string, string>>;
};

export type ListedCandidate = {
  readonly version: string;
  /** Channel of the release: the device's, or the one that it follows. */
  readonly channel: string;
  readonly status: ReleaseStatus;
  readonly verdict: 'offered' | 'not-published' | 'no-artifact' | 'not-targeted' | 'outside-cohort';
  /** Bucket of the device in the rollout, 0 to 9,999; null without a device id. */
  readonly bucket: number | null;
  /** Buckets below this one are in the rollout. */
  readonly threshold: number;
  /** Conditions of the targeting that the device does not meet. */
  readonly unmet: readonly TargetExpression[];
};
