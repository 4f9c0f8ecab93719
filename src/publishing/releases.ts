// Serving control: one atomic call that may change targets, rollout and status of a release.

import type { Principal } from '../access/api-keys.ts';
import {
  type Failure,
  fail,
  isFailure,
  type LostRight,
  type Outcome,
  type UnknownRelease,
} from '../contract/failure.ts';
import type { ServingState } from '../contract/resource.ts';
import {
  applyServingChange,
  type Serving,
  type ServingChange,
} from '../domain/release/serving-change.ts';
import type { Ledger } from '../store/ledger.ts';
import type { ReleaseName } from '../store/release-name.ts';
import type { SpreadChange } from './propagate-change.ts';

/** State that the author of a change has seen. */
export type SeenServing = Pick<Serving, 'status' | 'rolloutPct'>;

/**
 * Changes the serving state of a release, as far as `applyServingChange` allows it. A change whose author has
 * seen another state is refused, because it was meant for that one; one that stops the release never is,
 * because it is meant for every state.
 */
export async function controlServing(
  ledger: Ledger,
  spread: SpreadChange,
  caller: Principal,
  name: ReleaseName,
  change: ServingChange,
  reason?: string,
  seen?: SeenServing,
): Promise<
  Outcome<
    ServingState,
    UnknownRelease | 'narrowing' | 'rolledBack' | 'changedMeanwhile' | LostRight
  >
> {
  const controlled = await ledger.controlServing(
    caller.reach,
    name,
    (serving) => {
      const moved = seen && !isStop(change) ? refuseMoved(serving, seen) : undefined;
      if (moved !== undefined) return moved;
      const served = applyServingChange(serving, change);
      return isFailure(served) ? served : { ...served, isStatusSet: change.status !== undefined };
    },
    caller.actor,
    reason,
  );
  if (isFailure(controlled)) return controlled;
  await spread(controlled.changed, caller.actor.requestId);
  return controlled.value;
}

/** Returns whether a change takes the release out of service. */
function isStop({ status }: ServingChange): boolean {
  return status !== undefined && status !== 'published';
}

function refuseMoved(
  { status, rolloutPct }: Serving,
  seen: SeenServing,
): Failure<'changedMeanwhile'> | undefined {
  if (status === seen.status && rolloutPct === seen.rolloutPct) return undefined;
  const now = `${status.replace('_', ' ')}, at ${rolloutPct} %`;
  return fail('changedMeanwhile', `Somebody changed this release meanwhile: it is ${now}`);
}
