// Operations of publishers on releases: publish, promote, withdraw, list, control serving and plan the
// rollout. Each is one ledger call, and its change is propagated before the answer.

import type { Caller, Principal } from '../access/api-keys.ts';
import {
  type ApprovalObstacle,
  type Failure,
  fail,
  isFailure,
  type LostRight,
  type Outcome,
  type UnknownRelease,
} from '../contract/failure.ts';
import type { Release, ServingState, WithdrawnRelease } from '../contract/resource.ts';
import type { RolloutPlan } from '../contract/rollout-plan.ts';
import type { ResumedStop, Stop } from '../contract/stop.ts';
import {
  applyServingChange,
  type Serving,
  type ServingChange,
} from '../domain/release/serving-change.ts';
import type { WithdrawalObstacle } from '../domain/release/withdrawal.ts';
import type { PlanDefinition } from '../domain/rollout/plan-state.ts';
import type {
  Ledger,
  NewPromotion,
  NewRelease,
  NewStop,
  PublishObstacle,
  ReleaseFilter,
} from '../store/ledger.ts';
import type { ReleaseName, RepeatableCall } from '../store/ledger-terms.ts';
import type { PropagateChange } from './propagate-change.ts';

/** State that the author of a change has seen. */
type SeenServing = Pick<Serving, 'status' | 'rolloutPct'>;

/**
 * Changes the serving state of a release, if `applyServingChange` allows it. Refuses a change whose author
 * saw another state and meant that one; a change that stops the release is meant for every state.
 */
export async function controlServing(
  ledger: Ledger,
  propagate: PropagateChange,
  caller: Principal,
  name: ReleaseName,
  change: ServingChange,
  reason?: string,
  seen?: SeenServing,
): Promise<
  Outcome<
    ServingState,
    UnknownRelease | 'narrowing' | 'rolledBack' | 'changedMeanwhile' | ApprovalObstacle | LostRight
  >
> {
  const controlled = await ledger.controlServing(
    caller.scope,
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
  await propagate(controlled.changed, caller.actor.requestId);
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

export type PublishedRelease = {
  readonly release: Release;
  /** Whether an earlier call with the same idempotency key published it. */
  readonly isRepeated: boolean;
};

/** Publishes a release; resolves once this node serves it. */
export async function publishRelease(
  ledger: Ledger,
  propagate: PropagateChange,
  caller: Principal,
  release: NewRelease,
  call?: RepeatableCall,
): Promise<
  Outcome<PublishedRelease, 'unknownChannel' | PublishObstacle | ApprovalObstacle | LostRight>
> {
  const { scope, actor } = caller;
  const published = await ledger.publishRelease(scope, release, actor, call);
  if (isFailure(published)) return published;
  const { value, changed, isRepeated } = published;
  await propagate(changed, actor.requestId);
  return { release: value, isRepeated };
}

/**
 * Publishes a release of one channel on another, with the same version, notes and artifacts; resolves once
 * this node serves it.
 */
export async function promoteRelease(
  ledger: Ledger,
  propagate: PropagateChange,
  caller: Principal,
  promotion: NewPromotion,
  call?: RepeatableCall,
): Promise<
  Outcome<
    PublishedRelease,
    UnknownRelease | PublishObstacle | 'notPromotable' | ApprovalObstacle | LostRight
  >
> {
  const { scope, actor } = caller;
  const promoted = await ledger.promoteRelease(scope, promotion, actor, call);
  if (isFailure(promoted)) return promoted;
  const { value: release, changed, isRepeated } = promoted;
  await propagate(changed, actor.requestId);
  return { release, isRepeated };
}

/** Removes a release that was never offered and frees its version; resolves once this node dropped it. */
export async function withdrawRelease(
  ledger: Ledger,
  propagate: PropagateChange,
  caller: Principal,
  name: ReleaseName,
  reason: string | undefined,
): Promise<Outcome<WithdrawnRelease, UnknownRelease | WithdrawalObstacle | LostRight>> {
  const withdrawn = await ledger.withdrawRelease(caller.scope, name, caller.actor, reason);
  if (isFailure(withdrawn)) return withdrawn;
  await propagate(withdrawn.changed, caller.actor.requestId);
  return withdrawn.value;
}

// Stops: what an app, or one channel of it, has published is paused at once, and goes on at once.

/** Pauses all that is published, and returns once this node offers none of it. */
export async function stopReleases(
  ledger: Pick<Ledger, 'stopReleases'>,
  propagate: PropagateChange,
  { scope, actor }: Principal,
  stop: NewStop,
): Promise<Outcome<Stop, 'unknownApp' | 'unknownChannel' | LostRight>> {
  const stopped = await ledger.stopReleases(scope, stop, actor);
  if (isFailure(stopped)) return stopped;
  await propagate(stopped.changed, actor.requestId);
  return stopped.value;
}

/** Publishes again what a stop has paused and nobody has decided about since. */
export async function resumeStop(
  ledger: Pick<Ledger, 'resumeStop'>,
  propagate: PropagateChange,
  { scope, actor }: Principal,
  stopId: string,
): Promise<Outcome<ResumedStop, 'unknownStop' | ApprovalObstacle | LostRight>> {
  const resumed = await ledger.resumeStop(scope, stopId, actor);
  if (isFailure(resumed)) return resumed;
  await propagate(resumed.changed, actor.requestId);
  return resumed.value;
}

// Paginated list of an organization's releases.

type ReleaseList = {
  readonly releases: readonly Release[];
  readonly page: number;
  readonly pageCount: number;
  readonly total: number;
};

/** Reads a page of releases, newest first. An empty list has one page; a page beyond the last is empty. */
export async function listReleases(
  ledger: Ledger,
  caller: Caller,
  filter: ReleaseFilter,
): Promise<ReleaseList> {
  const { releases, total } = await ledger.listReleases(caller.scope, filter);
  const pageCount = Math.max(1, Math.ceil(total / filter.perPage));
  return { releases, page: filter.page, pageCount, total };
}

/** Creates a plan of a release. A node that drives plans begins its first step a moment later. */
export async function createPlan(
  ledger: Pick<Ledger, 'createPlan'>,
  propagate: PropagateChange,
  { scope, actor }: Principal,
  name: ReleaseName,
  definition: PlanDefinition,
  reason?: string,
): Promise<Outcome<RolloutPlan, UnknownRelease | 'planRefused' | ApprovalObstacle | LostRight>> {
  const made = await ledger.createPlan(scope, name, definition, actor, reason);
  if (isFailure(made)) return made;
  await propagate(made.changed, actor.requestId);
  return made.value;
}
