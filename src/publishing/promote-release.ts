// Promotion of a release: what one channel has is published on another, with the same version, notes and
// artifacts.

import type { Principal } from '../access/api-keys.ts';
import {
  isFailure,
  type LostRight,
  type Outcome,
  type UnknownRelease,
} from '../contract/failure.ts';
import type { Ledger, NewPromotion, PublishObstacle } from '../store/ledger.ts';
import type { RepeatableCall } from '../store/repeatable-call.ts';
import type { SpreadChange } from './propagate-change.ts';
import type { PublishedRelease } from './publish-release.ts';

/** Promotes a release, and returns once this node serves it. */
export async function promoteRelease(
  ledger: Ledger,
  spread: SpreadChange,
  caller: Principal,
  promotion: NewPromotion,
  call?: RepeatableCall,
): Promise<
  Outcome<PublishedRelease, UnknownRelease | PublishObstacle | 'notPromotable' | LostRight>
> {
  const { reach, actor } = caller;
  const promoted = await ledger.promoteRelease(reach, promotion, actor, call);
  if (isFailure(promoted)) return promoted;
  const { value: release, changed, isRepeated } = promoted;
  await spread(changed, actor.requestId);
  return { release, isRepeated };
}
