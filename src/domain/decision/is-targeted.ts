// Whether a release is for some devices only.

import type { Targeting } from '../../contract/resource.ts';

/** Returns whether a targeting has a condition. Null and a targeting without any match every device. */
export function isTargeted(targets: Targeting | null): boolean {
  if (targets === null) return false;
  return Object.keys(targets.matchLabels).length > 0 || targets.matchExpressions.length > 0;
}

export const NO_CONDITIONS: Targeting = { matchLabels: {}, matchExpressions: [] };
