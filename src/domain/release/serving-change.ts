// Serving control: the changes that one call may make to a release's rollout, status and targeting.
//
//   published ⇄ paused ⇄ deprecated      any of the three, in any direction
//        any of them → rolled_back       permanent: from there only rolled_back again
//
// After a device was offered the release, the rollout only rises and targeting only broadens. A call applies
// its parts in the order targets, rollout, status; the first refusal refuses the whole call.

import { type Failure, fail, isFailure, type Outcome } from '../../contract/failure.ts';
import type { ChangeOf, ReleaseStatus, Targeting } from '../../contract/resource.ts';
import { obstacleToBroadening } from './broadening.ts';

export type Serving = {
  readonly rolloutPct: number;
  readonly status: ReleaseStatus;
  readonly targets: Targeting | null;
  /** Whether a node ever prepared to send the release's manifest to a device. */
  readonly offered: boolean;
};

/** Changes of a call; `targets: null` clears targeting. */
export type ServingChange = ChangeOf<{
  targets: Targeting | null;
  rollout: number;
  status: ReleaseStatus;
}>;

/** Serving state after a call. */
export type Served = Serving & {
  /** Whether the call set the status, even to its present value. */
  readonly isStatusSet?: boolean;
};

/** Returns the serving state after the call, or the first refusal. */
export function applyServingChange(serving: Serving, change: ServingChange): Outcome<Serving> {
  const targeted = change.targets === undefined ? serving : applyTargets(serving, change.targets);
  if (isFailure(targeted)) return targeted;
  const rolled = change.rollout === undefined ? targeted : applyRollout(targeted, change.rollout);
  if (isFailure(rolled)) return rolled;
  return change.status === undefined ? rolled : applyStatus(rolled, change.status);
}

/** State that the author of a change has seen. */
type SeenServing = Pick<Serving, 'status' | 'rolloutPct'>;

/**
 * Returns what a call makes of the present state. Refuses a change whose author saw another state (`seen`),
 * because it was meant for that one; but a change that stops the release is meant for every state.
 */
export function transitionBy(
  change: ServingChange,
  seen?: SeenServing,
): (serving: Serving) => Outcome<Served> {
  const isStop = change.status !== undefined && change.status !== 'published';
  return (serving) => {
    const moved = seen && !isStop ? refuseMoved(serving, seen) : undefined;
    if (moved !== undefined) return moved;
    const served = applyServingChange(serving, change);
    return isFailure(served) ? served : { ...served, isStatusSet: change.status !== undefined };
  };
}

function refuseMoved({ status, rolloutPct }: Serving, seen: SeenServing): Failure | undefined {
  if (status === seen.status && rolloutPct === seen.rolloutPct) return undefined;
  const now = `${status.replace('_', ' ')}, at ${rolloutPct} %`;
  return fail('changedMeanwhile', `Somebody changed this release meanwhile: it is ${now}`);
}

/** Returns the part of this targeting that the release may no longer get; undefined if it may get all. */
export function obstacleToTargets(
  serving: Serving,
  targets: Targeting | null,
): ReturnType<typeof obstacleToBroadening> {
  return serving.offered ? obstacleToBroadening(serving.targets, targets) : undefined;
}

function applyTargets(serving: Serving, targets: Targeting | null): Outcome<Serving> {
  const reason = obstacleToTargets(serving, targets);
  if (reason === 'expressions') {
    return narrowing(serving, 'matchExpressions are frozen: cut a new release to change them.');
  }
  if (reason === 'labels') return narrowing(serving, 'The call would narrow its label targeting.');
  return { ...serving, targets };
}

function applyRollout(serving: Serving, rollout: number): Outcome<Serving> {
  if (serving.offered && rollout < serving.rolloutPct) {
    return narrowing(serving, `The call would lower it to ${rollout}%.`);
  }
  return { ...serving, rolloutPct: rollout };
}

function applyStatus(serving: Serving, status: ReleaseStatus): Outcome<Serving> {
  if (serving.status === 'rolled_back' && status !== 'rolled_back') return fail('rolledBack');
  return { ...serving, status };
}

function narrowing(serving: Serving, cause: string): Failure {
  return fail(
    'narrowing',
    `This release was already offered at ${serving.rolloutPct}%: the rollout can only increase and ` +
      `label targeting can only broaden. ${cause} ` +
      'Use pause to stop offering it, or rollback to pull it.',
  );
}

/**
 * Returns what prevents the withdrawal of a release; undefined if nothing does. An offered release stays, and
 * one that devices run: later decisions for these devices need its data.
 */
export function obstacleToWithdrawal(
  { status, offered }: Pick<Serving, 'status' | 'offered'>,
  /** Number of recorded devices that run it. */
  devices: number,
): Failure | undefined {
  if (status === 'rolled_back') {
    return fail('rolledBack', 'A rolled-back release cannot be withdrawn: its version stays taken');
  }
  if (offered) return fail('alreadyOffered');
  if (devices === 0) return undefined;
  const fleet = `${devices} ${devices === 1 ? 'device' : 'devices'}`;
  return fail(
    'alreadyRunning',
    `This release already runs on ${fleet}: pause it to stop offering it, or roll it back to pull it`,
  );
}
