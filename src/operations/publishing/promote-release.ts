// Promotion of a release: what one channel has is published on another, with the same version, notes and
// artifacts.

import {
  isFailure,
  type LostRight,
  type Outcome,
  type UnknownRelease,
} from '../../contract/failure.ts';
import type { Ledger, NewPromotion, PublishObstacle } from '../../ports/ledger.ts';
import type { RepeatableCall } from '../../ports/repeatable-call.ts';
import type { Principal } from '../access/authenticate-key.ts';
import type { PublishedRelease } from './publish-release.ts';
import type { SpreadChange } from './spread-change.ts';

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
