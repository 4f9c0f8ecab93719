// Actions on a release: which ones its state allows, the most likely first, and the look of each.

import type { RenderedReleaseDetail } from '../../contract/console.ts';
import type { ReleaseStatus } from '../../contract/resource.ts';
import type { StandingState } from '../../contract/standing.ts';

export type ReleaseAction =
  | 'pause'
  | 'resume'
  | 'promote'
  | 'withdraw'
  | 'rollback'
  | 'deprecate'
  | 'retry'
  | 'next';

/** State of a release on which its actions depend. */
export type ActionState = {
  readonly status: ReleaseStatus;
  readonly offered: boolean;
  readonly hold: RenderedReleaseDetail['release']['hold'];
  readonly state: StandingState;
  /** Whether its signals are above their limits. */
  readonly isUnhealthy: boolean;
  /** Whether its app is archived. */
  readonly isArchived: boolean;
  /** Whether its app has another channel. */
  readonly hasOther: boolean;
  /** Whether its channel answers devices that speak DDI. */
  readonly hasDdi: boolean;
};

/** Returns the possible actions, the most likely first. */
export function releaseActions(of: ActionState): readonly ReleaseAction[] {
  const { status, offered, isArchived, hasOther, hasDdi } = of;
  const wayOut: readonly ReleaseAction[] = status === 'rolled_back' ? [] : ['rollback'];
  const onOff: readonly ReleaseAction[] =
    status === 'published' ? ['pause'] : status === 'rolled_back' ? [] : ['resume'];
  const isStopped = isOverLimit(of) && status !== 'published';
  const mayPromote = (status === 'published' || status === 'paused') && !isArchived;
  return [
    ...(isStopped ? [...wayOut, ...onOff] : [...onOff, ...wayOut]),
    ...(isArchived ? [] : (['next'] as const)),
    ...(mayPromote && hasOther ? (['promote'] as const) : []),
    ...(status === 'published' && hasDdi ? (['retry'] as const) : []),
    ...(status === 'published' || status === 'paused' ? (['deprecate'] as const) : []),
    ...(offered || status === 'rolled_back' ? [] : (['withdraw'] as const)),
  ];
}

/** Returns the look of an action's button. */
export function actionTone(action: ReleaseAction, of: ActionState): 'danger' | 'primary' | 'plain' {
  const { status, hold, state, isUnhealthy } = of;
  if (action === 'pause' && isUnhealthy) return 'danger';
  if (action === 'rollback' && isOverLimit(of) && status !== 'published') return 'danger';
  // A release that waits for its files is published automatically.
  const isWaiting = hold === 'expecting';
  const isNext = action === 'resume' && state === 'paused' && !isUnhealthy && !isWaiting;
  return isNext ? 'primary' : 'plain';
}

function isOverLimit({ isUnhealthy, state }: ActionState): boolean {
  return isUnhealthy || state === 'stopped by its guard';
}

const LABELS: Readonly<Record<ReleaseAction, string>> = {
  pause: 'Pause…',
  resume: 'Resume…',
  promote: 'Promote…',
  withdraw: 'Withdraw…',
  rollback: 'Roll back…',
  deprecate: 'Deprecate…',
  retry: 'Let devices try again…',
  next: 'Publish next…',
};

/** Returns the label of an action's button; a deprecated release is published again. */
export function actionLabel(action: ReleaseAction, status: ReleaseStatus): string {
  const isAgain = action === 'resume' && status === 'deprecated';
  return isAgain ? 'Publish again…' : LABELS[action];
}
