// Answer of a dry run of a change: the change's own answer, findings and the effect on the fleet
// (docs/contract.md 23 and 24).

import type { Answer } from './answer-shape.ts';
import type { Reason } from './explanation.ts';
import type { ServingState } from './resource.ts';

/** `release` is the one that the change itself would answer with. */
export type DryRunAnswer<Release> = {
  readonly release: Release;
  readonly findings: readonly Finding[];
  readonly effect: Effect;
};

/** Dry run of a change of serving, with the effect on the devices that run the release. */
export type ServingDryRunAnswer = DryRunAnswer<ServingState> & {
  readonly runners: readonly RunnerEffect[];
};

/** Dry run of a plan; `effect` is the effect of its first step. */
export type PlanDryRunAnswer = Answer<'RehearsedPlan'>;

/** Devices of one platform that run a release, and what they would be offered after the change. */
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
export type UnpublishedRelease = Answer<'UnpublishedRelease'>;

/** A problem of a release. */
export type Finding = Answer<'Finding'>;

/** Returns a finding that is a warning. */
export function warning(path: string, message: string): Finding {
  return { path, severity: 'warning', message };
}

/** Effect of a change on the devices seen in the last 30 days. */
export type Effect = Answer<'Effect'>;

/** Number of devices whose offer changes from one version to another; null stands for no offer. */
export type EffectMove = Effect['moves'][number];

export type Reaching = { readonly release: { readonly version: string }; readonly effect: Effect };

/** Returns the number of devices that are offered the release only after the change. */
export function reachedBy({ release, effect }: Reaching): number {
  return effect.moves
    .filter(({ to }) => to === release.version)
    .reduce((sum, { devices }) => sum + devices, 0);
}

export type PlatformEffect = Effect['platforms'][number];
