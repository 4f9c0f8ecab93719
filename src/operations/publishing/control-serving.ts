// Serving control: one atomic call that may change targets, rollout and status of a release.

import {
  isFailure,
  type LostRight,
  type Outcome,
  type UnknownRelease,
} from '../../contract/failure.ts';
import type { ServingState } from '../../contract/resource.ts';
import { applyServingChange, type ServingChange } from '../../domain/release/serving-change.ts';
import type { Ledger } from '../../ports/ledger.ts';
import type { ReleaseName } from '../../ports/release-name.ts';
import type { Principal } from '../access/authenticate-key.ts';
import type { SpreadChange } from './spread-change.ts';

/** Changes the serving state of a release, as far as `applyServingChange` allows it. */
export async function controlServing(
  ledger: Ledger,
  spread: SpreadChange,
  caller: Principal,
  name: ReleaseName,
  change: ServingChange,
  reason?: string,
): Promise<Outcome<ServingState, UnknownRelease | 'narrowing' | 'rolledBack' | LostRight>> {
  const controlled = await ledger.controlServing(
    caller.reach,
    name,
    (serving) => {
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
