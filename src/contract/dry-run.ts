// Answer of a dry run of a change: what it would answer, what speaks against it, and what it would do to the
// fleet (docs/contract.md 23 and 24).

import type { Reason } from './reason.ts';
import type { Release, ServingState } from './resource.ts';
import type { UnstoredPlan } from './rollout-plan.ts';

/** Answer of a dry run; `release` is as the change itself would answer it. */
export type DryRunAnswer<Release> = {
  readonly release: Release;
  readonly findings: readonly Finding[];
  readonly effect: Effect;
};

/** Dry run of a change of serving, with what becomes of the devices that run the release. */
export type ServingDryRunAnswer = DryRunAnswer<ServingState> & {
  /** The most devices first. */
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
  /** Architecture; null for devices that tell none. */
  readonly arch: string | null;
  /** Version that they are offered; null where they stay on the release. */
  readonly to: string | null;
  /** Why they get what they get. */
  readonly reason: Reason;
  readonly devices: number;
};

/** Release as publishing it would answer: it has no id and no time of creation yet. */
export type UnpublishedRelease = Omit<Release, 'id' | 'createdAt'>;

/** What speaks against a release. */
export type Finding = {
  /** Field of the release: `version`, `artifacts` for the whole list, or `artifacts.0.url`. */
  readonly path: string;
  /** Devices that are offered it would fail where it is an error. */
  readonly severity: 'error' | 'warning';
  readonly message: string;
};

/** What a change does to the devices that were seen in the last 30 days. */
export type Effect = {
  readonly devices: number;
  /** Whether the numbers are estimated from a sample. */
  readonly isEstimate: boolean;
  /** Devices that had no offer and get one. */
  readonly gain: number;
  /** Devices that had an offer and get none. */
  readonly lose: number;
  /** Devices whose offer becomes another, the most frequent change first. */
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

/** Release of a dry run with its effect. */
export type Reaching = { readonly release: { readonly version: string }; readonly effect: Effect };

/** Returns how many devices a change offers the release that were offered another one or none. */
export function reachedBy({ release, effect }: Reaching): number {
  return effect.moves
    .filter(({ to }) => to === release.version)
    .reduce((sum, { devices }) => sum + devices, 0);
}

export type PlatformEffect = {
  readonly platform: string;
  /** Architecture; null for devices that tell none. */
  readonly arch: string | null;
  readonly devices: number;
  readonly gain: number;
  readonly lose: number;
  /** Devices that the changed release has no artifact for. */
  readonly withoutArtifact: number;
};
