// Position of a version among a catalog's landmarks, the only versions that decisions compare a device's
// version with. Versions at the same position get the same decision, so a fleet with any number of versions
// needs few plans, and a new version usually needs no plan of its own.

import type { Requirement } from './rule/requirement.ts';
import { compareVersions, type Version } from './version.ts';

/** Position of devices that report no version. */
const NO_VERSION = -1;

/**
 * Returns the position among the landmarks: odd at a landmark, even between two. Two versions have the same
 * position exactly if every landmark compares the same with both.
 */
export function versionPosition(
  landmarks: readonly Version[],
  version: Version | undefined,
): number {
  if (version === undefined) return NO_VERSION;
  let low = 0;
  let high = landmarks.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const order = compareVersions(landmarks[middle] as Version, version);
    if (order === 0) return 2 * middle + 1;
    if (order > 0) low = middle + 1;
    else high = middle;
  }
  return 2 * low;
}

/** Returns the versions that decisions on these releases compare with: highest first, each once. */
export function collectLandmarks(
  releases: readonly { readonly version: Version; readonly requirements: readonly Requirement[] }[],
  minimum: Version | undefined,
): readonly Version[] {
  const byCanonical = new Map<string, Version>();
  const add = (version: Version) => void byCanonical.set(version.canonical, version);
  for (const { version, requirements } of releases) {
    add(version);
    for (const { condition } of requirements) {
      if (condition.on === 'fields') condition.versions.forEach(add);
    }
  }
  if (minimum !== undefined) add(minimum);
  return [...byCanonical.values()].sort((left, right) => compareVersions(right, left));
}
