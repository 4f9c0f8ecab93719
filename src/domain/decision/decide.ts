// The decision itself: which release of a plan one device is offered, or the reason why none is. Pure and
// synchronous.

import type { NoOfferReason, ReleaseObstacle } from '../../contract/reason.ts';
import type { Candidate, CompiledRelease } from './catalog.ts';
import type { Plan } from './plan.ts';
import type { Device, Obstacle } from './rule/decision-rule.ts';
import { audienceOf, commonReason, firstUnmet } from './rule/requirement.ts';
import type { RequestFields } from './targeting.ts';

export type Decision<Item extends Candidate = Candidate> =
  | { readonly reason: 'offered'; readonly candidate: Item }
  | { readonly reason: NoOfferReason; readonly candidate: undefined };

/** Short form of a decision: the candidate that is offered, or the reason why none is. */
export type Choice<Item extends Candidate = Candidate> = Item | NoOfferReason;

const NOTHING_EXCLUDED: ReadonlySet<string> = new Set();

const FIRST_OFFER_UNAVAILABLE: Obstacle<'first-offer-unavailable'> = {
  reason: 'first-offer-unavailable',
  sentence: () => 'Nobody was offered it yet, and that it is could not be recorded right now.',
};

/**
 * Decides for one device. The first candidate that fits is offered; when none fits, the reason is the one
 * that kept the highest candidate away. `excluded` names releases that cannot be offered right now because
 * their first offer could not be recorded.
 */
export function decide<Item extends Candidate>(
  plan: Plan<Item>,
  device: Device,
  excluded?: ReadonlySet<string>,
): Decision<Item> {
  return decisionOf(choose(plan, device, excluded));
}

/** Decides as `decide` does, and allocates nothing. */
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

/** Returns the choice for every device while nothing is excluded; undefined when it depends on the device. */
export function commonChoice<Item extends Candidate>(plan: Plan<Item>): Choice<Item> | undefined {
  for (let index = plan.from; index < plan.to; index++) {
    const candidate = plan.list[index] as Item;
    const audience = audienceOf(candidate.release.requirements, plan.fields);
    if (audience === 'none') continue;
    return audience === 'all' ? candidate : undefined;
  }
  const highest = plan.from < plan.to ? plan.list[plan.from] : undefined;
  if (highest === undefined) return plan.reasonWithout;
  return commonReason(highest.release.requirements, plan.fields);
}

/** Writes a choice out. */
export function decisionOf<Item extends Candidate>(choice: Choice<Item>): Decision<Item> {
  if (typeof choice === 'string') return { reason: choice, candidate: undefined };
  return { reason: 'offered', candidate: choice };
}

/** Returns what keeps this release from the device; undefined when it can be offered. */
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
