// Badge for the status of a release.

import type { ReleaseStatus } from '../../contract/resource.ts';

const RELEASE_STATUS: Readonly<Record<ReleaseStatus, readonly [label: string, tone: string]>> = {
  published: ['Published', 'good'],
  paused: ['Paused', 'warn'],
  rolled_back: ['Rolled back', 'bad'],
  deprecated: ['Deprecated', 'quiet'],
};

/**
 * Badge of a release; a published one below 100 % is labelled as rolling out, one that no device is offered
 * because of a higher version as superseded, and one without a file as such, because nobody can install it.
 */
export function StatusBadge(props: {
  status: ReleaseStatus;
  rolloutPct?: number;
  artifacts?: number;
  /** Whether every device is offered a higher version rather than this one. */
  isSuperseded?: boolean;
}) {
  const { status, rolloutPct = 100, artifacts = 1, isSuperseded = false } = props;
  if (status === 'published' && artifacts === 0)
    return <span class="badge warn">No artifacts</span>;
  if (status === 'published' && isSuperseded) return <span class="badge quiet">Superseded</span>;
  const isRolling = status === 'published' && rolloutPct < 100;
  const [label, tone] = isRolling ? ['Rolling out', 'live'] : RELEASE_STATUS[status];
  return <span class={`badge ${tone}`}>{label}</span>;
}
