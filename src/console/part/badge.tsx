// Badges for outcomes, for the status and standing of a release, and for its rollout plan.

import type { ComponentChildren } from 'preact';
import type { ReleaseStatus } from '../../contract/resource.ts';
import type { Health, PlanStatus } from '../../contract/rollout-plan.ts';
import type { StandingState } from '../../contract/standing.ts';

export type Tone = 'good' | 'warn' | 'bad' | 'live' | 'quiet';

export function Badge({ tone = 'quiet', children }: { tone?: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

const RELEASE_STATUS: Readonly<Record<ReleaseStatus, readonly [label: string, tone: Tone]>> = {
  published: ['Published', 'good'],
  paused: ['Paused', 'warn'],
  rolled_back: ['Rolled back', 'bad'],
  deprecated: ['Deprecated', 'quiet'],
};

/** Badge of a release's status, for lists that do not know its standing. */
export function StatusBadge({ status }: { status: ReleaseStatus }) {
  const [label, tone] = RELEASE_STATUS[status];
  return <Badge tone={tone}>{label}</Badge>;
}

const STANDINGS: Readonly<Record<StandingState, readonly [label: string, tone: Tone]>> = {
  serving: ['Serving', 'good'],
  'rolling out': ['Rolling out', 'live'],
  'for nobody yet': ['For nobody yet', 'quiet'],
  superseded: ['Superseded', 'quiet'],
  'without files': ['No artifacts', 'warn'],
  paused: ['Paused', 'warn'],
  'stopped by its guard': ['Stopped by its guard', 'bad'],
  deprecated: ['Deprecated', 'quiet'],
  'rolled back': ['Rolled back', 'bad'],
};

/** Badge of a release's standing: whether devices are offered it, or why not. */
export function StandingBadge({ state }: { state: StandingState }) {
  const [label, tone] = STANDINGS[state];
  return <Badge tone={tone}>{label}</Badge>;
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
