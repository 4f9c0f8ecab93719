// Share of the devices to which a release is offered at present.

import type { ReleaseStatus } from '../../contract/resource.ts';

/**
 * Returns the percentage of the devices that a release is meant for which are offered it now: none of one
 * that is not published, whatever its roll-out was.
 */
export function servedShare(release: {
  readonly status: ReleaseStatus;
  readonly rolloutPct: number;
}): number {
  return release.status === 'published' ? release.rolloutPct : 0;
}
