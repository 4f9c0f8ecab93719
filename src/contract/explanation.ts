// Explanation of a decision for programs (docs/contract.md 4.20). The console has its own, in sentences.

import type { DeviceClient } from './device-client.ts';
import type { NoOfferReason } from './reason.ts';
import type { ReleaseStatus, TargetExpression, UpdateManifest } from './resource.ts';

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
