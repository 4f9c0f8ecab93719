// The decision: which release of a plan a device is offered, or the reason why none is. Pure and synchronous.

import type { NoOfferReason, ReleaseObstacle } from '../../contract/explanation.ts';
import type { Candidate, CompiledRelease } from './catalog.ts';
import type { Plan } from './plan.ts';
import type { Device, Obstacle } from './rule/decision-rule.ts';
import { audienceOf, commonReason, firstUnmet } from './rule/requirement.ts';
import type { RequestFields } from './targeting.ts';

export type Decision<Item extends Candidate = Candidate> =
  | { readonly reason: 'offered'; readonly candidate: Item }
  | { readonly reason: NoOfferReason; readonly candidate: undefined };

/** Short form of a decision: the offered candidate, or the reason why none is offered. */
export type Choice<Item extends Candidate = Candidate> = Item | NoOfferReason;

/** Value of `excluded` while every first offer can be recorded. */
export const NOTHING_EXCLUDED: ReadonlySet<string> = new Set();

const FIRST_OFFER_UNAVAILABLE: Obstacle<'first-offer-unavailable'> = {
  reason: 'first-offer-unavailable',
  sentence: () => 'It was never offered, and its first offer cannot be recorded right now.',
};

/**
 * Decides for one device. Offers the first candidate that fits; if none fits, gives the reason that rules out
 * the highest one. `excluded` has the ids of releases whose first offer could not be recorded.
 */
export function decide<Item extends Candidate>(
  plan: Plan<Item>,
  device: Device,
  excluded?: ReadonlySet<string>,
): Decision<Item> {
  return decisionOf(choose(plan, device, excluded));
}

/** Decides like `decide`, without allocating. */
export function choose<Item extends Candidate>(
  plan: Plan<Item>,
  device: Device,
  excluded: ReadonlySet<string> = NOTHING_EXCLUDED,
): Choice<Item> {
  let reason: NoOfferReason | undefined;
  for (let index = plan.from; index < plan.to; index++) {
    const candidate = plan.list[index] as Item;
    const obstacle = obstacleTo(candidate.release, plan.fields, device, excluded);
    if (obstacle === undefined) return candidate;
    reason ??= obstacle.reason;
  }
  return reason ?? plan.reasonWithout;
}

/** Candidate of a plan, and which of the plan's devices can be offered it. */
export type Reached<Item extends Candidate> = {
  readonly candidate: Item;
  readonly audience: 'all' | 'some';
};

/**
 * Finds the candidates that devices of a plan can be offered while nothing is excluded, highest first, one at
 * a time. If the last one is for all, every device gets it that is not offered an earlier one.
 */
export function* reachedBy<Item extends Candidate>(plan: Plan<Item>): Generator<Reached<Item>> {
  for (let index = plan.from; index < plan.to; index++) {
    const candidate = plan.list[index] as Item;
    const audience = audienceOf(candidate.release.requirements, plan.fields);
    if (audience === 'none') continue;
    yield { candidate, audience };
    if (audience === 'all') return;
  }
}

/** Returns the choice if it is the same for every device while nothing is excluded, else undefined. */
export function commonChoice<Item extends Candidate>(plan: Plan<Item>): Choice<Item> | undefined {
  const [first] = reachedBy(plan);
  if (first !== undefined) return first.audience === 'all' ? first.candidate : undefined;
  const highest = plan.from < plan.to ? plan.list[plan.from] : undefined;
  if (highest === undefined) return plan.reasonWithout;
  return commonReason(highest.release.requirements, plan.fields);
}

export function decisionOf<Item extends Candidate>(choice: Choice<Item>): Decision<Item> {
  if (typeof choice === 'string') return { reason: choice, candidate: undefined };
  return { reason: 'offered', candidate: choice };
}

/** Returns what rules out this release for the device; undefined if it can be offered. */
export function obstacleTo(
  { requirements, source }: CompiledRelease,
  fields: RequestFields,
  device: Device,
  excluded: ReadonlySet<string>,
): Obstacle<ReleaseObstacle> | undefined {
  const unmet = firstUnmet(requirements, fields, device);
  if (unmet !== undefined) return unmet;
  return excluded.size > 0 && excluded.has(source.id) ? FIRST_OFFER_UNAVAILABLE : undefined;
}
