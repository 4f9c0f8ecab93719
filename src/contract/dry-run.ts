// Answer of a dry run of a change: the change's own answer, findings and the effect on the fleet
// (docs/contract.md 23 and 24).

import type { Reason } from './explanation.ts';
import type { Release, ServingState } from './resource.ts';
import type { UnstoredPlan } from './rollout-plan.ts';

/** `release` is what the change itself would answer. */
export type DryRunAnswer<Release> = {
  readonly release: Release;
  readonly findings: readonly Finding[];
  readonly effect: Effect;
};

/** Dry run of a change of serving, with the effect on the devices that run the release. */
export type ServingDryRunAnswer = DryRunAnswer<ServingState> & {
  readonly runners: readonly RunnerEffect[];
};

/** Dry run of a plan; the effect is that of its first raise. */
export type PlanDryRunAnswer = {
  readonly plan: UnstoredPlan;
  readonly findings: readonly Finding[];
  readonly effect: Effect;
};

/** Devices of a platform that run a release, and what they are offered after a change of it. */
export type RunnerEffect = {
  readonly platform: string;
  /** Architecture; null for devices that report none. */
  readonly arch: string | null;
  /** Version that they are offered; null if they stay on the release. */
  readonly to: string | null;
  readonly reason: Reason;
  readonly devices: number;
};

/** A release that is not published yet, so it has no id and no time of creation. */
export type UnpublishedRelease = Omit<Release, 'id' | 'createdAt'>;

/** A problem of a release. */
export type Finding = {
  /** Field of the release: `version`, `artifacts` for the whole list, or `artifacts.0.url`. */
  readonly path: string;
  /** With an error, devices that are offered the release would fail. */
  readonly severity: 'error' | 'warning';
  readonly message: string;
};

/** Effect of a change on the devices seen in the last 30 days. */
export type Effect = {
  readonly devices: number;
  /** Whether the numbers are estimates from a sample. */
  readonly isEstimate: boolean;
  /** Devices that had no offer and get one. */
  readonly gain: number;
  /** Devices that had an offer and get none. */
  readonly lose: number;
  /** Devices whose offer changes, the most frequent change first. */
  readonly moves: readonly EffectMove[];
  /** Parts of the fleet, the largest first. */
  readonly platforms: readonly PlatformEffect[];
  /** Ids of some devices that gain or lose an offer. */
  readonly examples: { readonly gain: readonly string[]; readonly lose: readonly string[] };
};

/** Number of devices whose offer changes from one version to another; null is no offer. */
export type EffectMove = {
  readonly from: string | null;
  readonly to: string | null;
  readonly devices: number;
};

export type Reaching = { readonly release: { readonly version: string }; readonly effect: Effect };

/** Returns how many devices a change newly offers the release. */
export function reachedBy({ release, effect }: Reaching): number {
  return effect.moves
    .filter(({ to }) => to === release.version)
    .reduce((sum, { devices }) => sum + devices, 0);
}

export type PlatformEffect = {
  readonly platform: string;
  /** Architecture; null for devices that report none. */
  readonly arch: string | null;
  readonly devices: number;
  readonly gain: number;
  readonly lose: number;
  /** Devices that the changed release has no artifact for. */
  readonly withoutArtifact: number;
};
