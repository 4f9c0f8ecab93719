// Withdrawal of a release that nobody was offered: it is removed, and its version is free again.

import type { Principal } from '../access/api-keys.ts';
import {
  isFailure,
  type LostRight,
  type Outcome,
  type UnknownRelease,
} from '../contract/failure.ts';
import type { WithdrawnRelease } from '../contract/resource.ts';
import type { WithdrawalObstacle } from '../domain/release/withdrawal.ts';
import type { Ledger } from '../store/ledger.ts';
import type { ReleaseName } from '../store/release-name.ts';
import type { SpreadChange } from './propagate-change.ts';

/** Withdraws a release, and returns once this node knows it no more. */
export async function withdrawRelease(
  ledger: Ledger,
  spread: SpreadChange,
  caller: Principal,
  name: ReleaseName,
  reason: string | undefined,
): Promise<Outcome<WithdrawnRelease, UnknownRelease | WithdrawalObstacle | LostRight>> {
  const withdrawn = await ledger.withdrawRelease(caller.reach, name, caller.actor, reason);
  if (isFailure(withdrawn)) return withdrawn;
  await spread(withdrawn.changed, caller.actor.requestId);
  return withdrawn.value;
}
