// Publishing of a release: it is recorded with its audit entry, then served by every node.

import type { Principal } from '../access/api-keys.ts';
import { isFailure, type LostRight, type Outcome } from '../contract/failure.ts';
import type { Release } from '../contract/resource.ts';
import type { Ledger, NewRelease, PublishObstacle } from '../store/ledger.ts';
import type { RepeatableCall } from '../store/repeatable-call.ts';
import type { SpreadChange } from './propagate-change.ts';

export type PublishedRelease = {
  readonly release: Release;
  /** Whether an earlier call with the same idempotency key published it. */
  readonly isRepeated: boolean;
};

/** Publishes a release, and returns once this node serves it. */
export async function publishRelease(
  ledger: Ledger,
  spread: SpreadChange,
  caller: Principal,
  release: NewRelease,
  call?: RepeatableCall,
): Promise<Outcome<PublishedRelease, 'unknownChannel' | PublishObstacle | LostRight>> {
  const { reach, actor } = caller;
  const published = await ledger.publishRelease(reach, release, actor, call);
  if (isFailure(published)) return published;
  const { value, changed, isRepeated } = published;
  await spread(changed, actor.requestId);
  return { release: value, isRepeated };
}
