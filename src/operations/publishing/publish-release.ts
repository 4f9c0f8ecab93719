// Publishing of a release: it is recorded with its audit entry, then served by every node.

import { isFailure, type LostRight, type Outcome } from '../../contract/failure.ts';
import type { Release } from '../../contract/resource.ts';
import type { Ledger, NewRelease } from '../../ports/ledger.ts';
import type { Principal } from '../access/authenticate-key.ts';
import type { SpreadChange } from './spread-change.ts';

/** Publishes a release, and returns once this node serves it. */
export async function publishRelease(
  ledger: Ledger,
  spread: SpreadChange,
  caller: Principal,
  release: NewRelease,
): Promise<Outcome<Release, 'unknownChannel' | 'versionExists' | 'channelFull' | LostRight>> {
  const published = await ledger.publishRelease(caller.organizationId, release, caller.actor);
  if (isFailure(published)) return published;
  await spread(published.changed, caller.actor.requestId);
  return published.value;
}
