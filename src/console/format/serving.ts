// Served state of channels: their order, the percentage that a release is offered to, and sentences for
// obstacles to a change. The rules are the domain's, which the service applies too.

import { isFailure } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { ReleaseStatus, Targeting } from '../../contract/resource.ts';
import {
  applyServingChange,
  obstacleToTargets,
  type Serving,
} from '../../domain/release/serving-change.ts';

const STABLE = 'stable';
const NATURAL = new Intl.Collator('en', { numeric: true });

/** Compares two channels: `stable` first, then by name; `channel-9` comes before `channel-19`. */
export function channelOrder(one: string, other: string): number {
  if (one === other) return 0;
  if (one === STABLE) return -1;
  return other === STABLE ? 1 : NATURAL.compare(one, other);
}

/** Returns the names of an app's channels in that order. */
export function channelNames(app: {
  readonly channels: readonly { readonly name: string }[];
}): readonly string[] {
  return app.channels.map(({ name }) => name).toSorted(channelOrder);
}

/** Returns the percentage of targeted devices that are offered a release now; 0 unless it is published. */
export function servedShare(release: {
  readonly status: ReleaseStatus;
  readonly rolloutPct: number;
}): number {
  return release.status === 'published' ? release.rolloutPct : 0;
}

export const servingObstacle = { toRollout, toTargets };

/** Returns why the rollout cannot be set to this percentage; undefined if it can. */
function toRollout(release: Serving, percent: number): string | undefined {
  if (!Number.isInteger(percent) || percent < 0 || percent > LIMIT.rolloutPctMax) {
    return `A whole number from 0 to ${LIMIT.rolloutPctMax}.`;
  }
  if (release.status === 'rolled_back')
    return 'This release was rolled back: nobody gets it again.';
  if (percent === release.rolloutPct) return `It is at ${percent}% already.`;
  if (isFailure(applyServingChange(release, { rollout: percent }))) {
    return (
      `Devices were already offered this release at ${release.rolloutPct}%, so the share cannot go down. ` +
      'Pause it to stop offering it, or roll it back to pull it.'
    );
  }
  return undefined;
}

/** Returns why the targeting cannot change to this; undefined if it can. */
function toTargets(release: Serving, targets: Targeting | null): string | undefined {
  const obstacle = obstacleToTargets(release, targets);
  return obstacle && TARGETS_TEXTS[obstacle];
}

const TARGETS_TEXTS = {
  expressions:
    'Devices were already offered this release: its conditions are fixed. Publish a new one.',
  labels:
    'Devices were already offered this release: labels can only reach more devices, never fewer.',
} as const;
