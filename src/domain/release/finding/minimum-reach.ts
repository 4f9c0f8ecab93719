// Whether each device below the minimum version of a channel is offered a release that meets it. Devices
// below it must update (docs/contract.md 13.5); if no such release is for every device, some get none.

import { type Finding, warning } from '../../../contract/dry-run.ts';
import type { ServingSnapshot, SnapshotRelease } from '../../decision/serving-snapshot.ts';
import { compareVersions, parseVersion, type Version } from '../../decision/version.ts';

export type ReachingRelease = Pick<
  SnapshotRelease,
  'version' | 'status' | 'rolloutPct' | 'targets'
>;

/** Channel with its minimum version, and the releases that it serves. */
type Place = Pick<ServingSnapshot, 'minimumSupportedVersion'> & {
  readonly releases: readonly ReachingRelease[];
};

/**
 * Returns a warning if releases meet the minimum version of a channel, and none is offered to every device.
 * With `version`, it is about that release, and there is none if that is below the minimum.
 */
export function minimumFindings(
  { minimumSupportedVersion, releases }: Place,
  version?: Version,
): readonly Finding[] {
  const minimum = parseVersion(minimumSupportedVersion ?? '');
  if (minimum === undefined) return [];
  if (version !== undefined && compareVersions(version, minimum) < 0) return [];
  const meeting = releases.filter((release) => {
    const own = parseVersion(release.version);
    const isServed = release.status === 'published' || release.status === 'paused';
    return isServed && own !== undefined && compareVersions(own, minimum) >= 0;
  });
  const [widest] = meeting.toSorted((left, right) => reachOf(right) - reachOf(left));
  if (widest === undefined || reachOf(widest) > 100) return [];
  const message = `Devices below ${minimum.canonical}, the minimum version of the channel, must update, and `;
  const path = version === undefined ? 'minimumSupportedVersion' : 'rollout';
  return [warning(path, message + rest(widest))];
}

/** Returns how far a release reaches: above 100 only when every device is offered it. */
function reachOf({ status, rolloutPct, targets }: ReachingRelease): number {
  if (status === 'paused') return -1;
  return rolloutPct === 100 && targets === null ? 101 : rolloutPct;
}

function rest({ version, status, rolloutPct }: ReachingRelease): string {
  if (status === 'paused') return `get nothing that meets it: ${version} is paused`;
  if (rolloutPct === 100) {
    return `only those that the targeting of ${version} matches get what meets it`;
  }
  return `only some get what meets it: ${version} is at ${rolloutPct} %`;
}
