// Badges for a roll-out plan: its status, and what its signals say.

import type { Health, PlanStatus } from '../../contract/rollout-plan.ts';
import { Badge, type Tone } from './badge.tsx';

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
