// Badges for outcomes, for the status of a release, and for its rollout plan.

import type { ComponentChildren } from 'preact';
import type { ReleaseStatus } from '../../contract/resource.ts';
import type { Health, PlanStatus } from '../../contract/rollout-plan.ts';

export type Tone = 'good' | 'warn' | 'bad' | 'live' | 'quiet';

export function Badge({ tone = 'quiet', children }: { tone?: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

const RELEASE_STATUS: Readonly<Record<ReleaseStatus, readonly [label: string, tone: string]>> = {
  published: ['Published', 'good'],
  paused: ['Paused', 'warn'],
  rolled_back: ['Rolled back', 'bad'],
  deprecated: ['Deprecated', 'quiet'],
};

/** Badge of a release: its status, or that it is rolling out, superseded, or without artifacts. */
export function StatusBadge(props: {
  status: ReleaseStatus;
  rolloutPct?: number;
  artifacts?: number;
  /** Whether every device is offered a higher version instead. */
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

const PLAN_STATUS: Readonly<Record<PlanStatus, readonly [label: string, tone: Tone]>> = {
  scheduled: ['Plan scheduled', 'live'],
  running: ['Plan running', 'live'],
  held: ['Plan held', 'warn'],
  completed: ['Plan completed', 'good'],
  cancelled: ['Plan cancelled', 'quiet'],
};

const VERDICTS: Readonly<Record<Health['verdict'], readonly [label: string, tone: Tone]>> = {
  'too early': ['Too early to tell', 'quiet'],
  healthy: ['Healthy', 'good'],
  unhealthy: ['Unhealthy', 'bad'],
};

/** Badge of a plan's status. */
export function PlanBadge({ status }: { status: PlanStatus }) {
  const [label, tone] = PLAN_STATUS[status];
  return <Badge tone={tone}>{label}</Badge>;
}

/** Badge of a release's verdict. */
export function VerdictBadge({ verdict }: Pick<Health, 'verdict'>) {
  const [label, tone] = VERDICTS[verdict];
  return <Badge tone={tone}>{label}</Badge>;
}
