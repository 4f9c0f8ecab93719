// Whether a release is for some devices only.

import type { Targeting } from '../../contract/resource.ts';

/** Returns whether a targeting has a condition; without one it holds for every device, as null does. */
export function isTargeted(targets: Targeting | null): boolean {
  if (targets === null) return false;
  return Object.keys(targets.matchLabels).length > 0 || targets.matchExpressions.length > 0;
}

/** Targeting without a condition, as it is written. */
export const NO_CONDITIONS: Targeting = { matchLabels: {}, matchExpressions: [] };
