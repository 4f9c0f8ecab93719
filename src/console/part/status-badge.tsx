// Badge for the status of a release.

import type { ReleaseStatus } from '../../contract/resource.ts';

const STATUS: Readonly<Record<ReleaseStatus, readonly [label: string, tone: string]>> = {
  published: ['Published', 'good'],
  paused: ['Paused', 'warn'],
  rolled_back: ['Rolled back', 'bad'],
  deprecated: ['Deprecated', 'quiet'],
};

/**
 * Badge of a release; a published one below 100 % is labelled as rolling out, and one without a file as such,
 * because nobody can install it.
 */
export function StatusBadge(props: {
  status: ReleaseStatus;
  rolloutPct?: number;
  artifacts?: number;
}) {
  const { status, rolloutPct = 100, artifacts = 1 } = props;
  if (status === 'published' && artifacts === 0)
    return <span class="badge warn">No artifacts</span>;
  const isRolling = status === 'published' && rolloutPct < 100;
  const [label, tone] = isRolling ? ['Rolling out', 'live'] : STATUS[status];
  return <span class={`badge ${tone}`}>{label}</span>;
}
