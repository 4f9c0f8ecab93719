// What a release's serving state allows, so that the console offers what will be accepted and says why the
// rest will not. The service decides; these are its rules (contract section 3) as the page needs them.

import type { ReleaseStatus, TargetExpression, Targeting } from '../../contract/resource.ts';

type Serving = {
  readonly status: ReleaseStatus;
  readonly rolloutPct: number;
  readonly targets: Targeting | null;
  readonly offered: boolean;
};

const NOTHING: Targeting = { matchLabels: {}, matchExpressions: [] };

export const releaseRules = { rolloutObstacle, targetingObstacle, canBecome };

/** Why the roll-out cannot be set to this share, or undefined when it can. */
function rolloutObstacle(release: Serving, percent: number): string | undefined {
  if (!Number.isInteger(percent) || percent < 0 || percent > 100) {
    return 'A whole number from 0 to 100.';
  }
  if (release.status === 'rolled_back')
    return 'This release was rolled back: nobody gets it again.';
  if (percent === release.rolloutPct) return `It is at ${percent}% already.`;
  if (release.offered && percent < release.rolloutPct) {
    return (
      `Devices were already offered this release at ${release.rolloutPct}%, so the share cannot go down. ` +
      'Pause it to stop offering it, or roll it back to pull it.'
    );
  }
  return undefined;
}

/** Why targeting cannot change to this, or undefined when it can. */
function targetingObstacle(release: Serving, targets: Targeting | null): string | undefined {
  if (!release.offered) return undefined;
  const before = release.targets ?? NOTHING;
  const after = targets ?? NOTHING;
  if (!sameExpressions(before.matchExpressions, after.matchExpressions)) {
    return 'Devices were already offered this release: its conditions are fixed. Publish a new one.';
  }
  return labelsBroaden(before.matchLabels, after.matchLabels)
    ? undefined
    : 'Devices were already offered this release: labels can only reach more devices, never fewer.';
}

/** Whether a status may follow the present one: a roll-back is for ever, the others go any way. */
function canBecome(release: Pick<Serving, 'status'>, status: ReleaseStatus): boolean {
  return release.status !== 'rolled_back' && release.status !== status;
}

function labelsBroaden(before: Targeting['matchLabels'], after: Targeting['matchLabels']): boolean {
  return Object.entries(after).every(([key, values]) => {
    const previous = Object.hasOwn(before, key) ? before[key] : undefined;
    return previous?.every((value) => values.includes(value)) === true;
  });
}

function sameExpressions(
  left: readonly TargetExpression[],
  right: readonly TargetExpression[],
): boolean {
  const spelled = (all: readonly TargetExpression[]) =>
    JSON.stringify([...new Set(all.map(spell))].sort());
  return spelled(left) === spelled(right);
}

function spell({ key, operator, values }: TargetExpression): string {
  return JSON.stringify([key, operator, [...new Set(values)].sort()]);
}
