// A release's status, told by word and by color.

import type { ReleaseStatus } from '../../contract/resource.ts';

const STATUS: Readonly<Record<ReleaseStatus, readonly [label: string, tone: string]>> = {
  published: ['Published', 'good'],
  paused: ['Paused', 'warn'],
  rolled_back: ['Rolled back', 'bad'],
  deprecated: ['Deprecated', 'quiet'],
};

/** The badge; a published release that is not yet for everybody is said to be rolling out. */
export function StatusBadge(props: { status: ReleaseStatus; rolloutPct?: number }) {
  const { status, rolloutPct = 100 } = props;
  const isRolling = status === 'published' && rolloutPct < 100;
  const [label, tone] = isRolling ? ['Rolling out', 'live'] : STATUS[status];
  return <span class={`badge ${tone}`}>{label}</span>;
}
