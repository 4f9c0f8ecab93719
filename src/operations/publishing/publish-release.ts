// Publishing of a release: it is recorded with its audit entry, then served by every node.

import { isFailure, type LostRight, type Outcome } from '../../contract/failure.ts';
import type { Release } from '../../contract/resource.ts';
import type { Ledger, NewRelease, PublishObstacle } from '../../ports/ledger.ts';
import type { RepeatableCall } from '../../ports/repeatable-call.ts';
import type { Principal } from '../access/authenticate-key.ts';
import type { SpreadChange } from './spread-change.ts';

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
