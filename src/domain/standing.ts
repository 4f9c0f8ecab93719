// Where a version stands in a catalog. Decisions compare the version that a device reports with those that
// the catalog names, and with nothing else: two versions that stand at the same place are decided alike. So
// a fleet of any number of versions needs few plans, and a version nobody has seen before mostly none.

import type { CompiledTargeting } from './targeting.ts';
import { compareVersions, type Version } from './version.ts';

/** No version at all has a place of its own. */
const NOWHERE = -1;

/**
 * The place among the landmarks: odd at one of them, even between two; a binary search. It is equal for two
 * versions exactly when every landmark compares the same with both.
 */
export function standingOf(landmarks: readonly Version[], version: Version | undefined): number {
  if (version === undefined) return NOWHERE;
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

/** The versions that a catalog's decisions compare with: highest first, each once. */
export function collectLandmarks(
  releases: readonly { readonly version: Version; readonly targeting: CompiledTargeting }[],
  minimum: Version | undefined,
): readonly Version[] {
  const byCanonical = new Map<string, Version>();
  const add = (version: Version) => void byCanonical.set(version.canonical, version);
  for (const { version, targeting } of releases) {
    add(version);
    targeting.versions.forEach(add);
  }
  if (minimum !== undefined) add(minimum);
  return [...byCanonical.values()].sort((left, right) => compareVersions(right, left));
}
