// Serving control: one atomic call that may change targets, roll-out and status of a release.

import { isFailure, type Outcome } from '../contract/failure.ts';
import type { ServingState } from '../contract/resource.ts';
import { applyServingChange, type ServingChange } from '../domain/serving.ts';
import type { Ledger, ReleaseName } from '../ports/ledger.ts';
import type { Principal } from './authenticate-key.ts';
import type { SpreadChange } from './spread-change.ts';

/** 404 unknown app, channel or release; 409 and 422 as `applyServingChange` says. */
export async function controlServing(
  ledger: Ledger,
  spread: SpreadChange,
  caller: Principal,
  name: ReleaseName,
  change: ServingChange,
): Promise<Outcome<ServingState>> {
  const controlled = await ledger.controlServing(
    caller.organizationId,
    name,
    (serving) => applyServingChange(serving, change),
    caller.actor,
  );
  if (isFailure(controlled)) return controlled;
  await spread(controlled.changed);
  return controlled.value;
}
