// The decision itself: walks a plan for one device. Pure and synchronous; every answer has a reason.

import type { CompiledRelease } from './catalog.ts';
import { COHORT_BUCKETS, cohortBucket } from './cohort.ts';
import {
  type Contender,
  fitsEverybody,
  NO_OFFER_REASONS,
  type NoOfferReason,
  type Plan,
} from './plan.ts';
import { type Labels, matchesFields, matchesLabels } from './targeting.ts';

export type Decision<Item extends Contender = Contender> =
  | { readonly reason: 'offered'; readonly candidate: Item }
  | { readonly reason: NoOfferReason; readonly candidate: undefined };

export type Device = {
  /** `hashText` of the device id; undefined when the device did not identify itself. */
  readonly hash: number | undefined;
  readonly labels: Labels;
};

const NOTHING_BARRED: ReadonlySet<string> = new Set();

/**
 * What this device gets. The first candidate that fits wins; when none does, the reason is the one
 * that kept the highest candidate away. `barred` names releases that cannot be offered right now
 * because their first offer could not be recorded.
 */
export function decide<Item extends Contender>(
  plan: Plan<Item>,
  device: Device,
  barred: ReadonlySet<string> = NOTHING_BARRED,
): Decision<Item> {
  return decisionAt(plan, decidePlace(plan, device, barred));
}

/** The same as a number, for who has seen the decision before: see `decisionAt`. */
export function decidePlace(
  plan: Plan,
  device: Device,
  barred: ReadonlySet<string> = NOTHING_BARRED,
): number {
  let reason: NoOfferReason | undefined;
  for (let index = plan.from; index < plan.to; index++) {
    const { release } = plan.list[index] as Contender;
    const obstacle = obstacleFor(release, plan, device, barred);
    if (obstacle === undefined) return index;
    reason ??= obstacle;
  }
  return placeWithout(reason ?? plan.reasonWithout);
}

/** What a place means: in the plan's list from 0 on, and below that one for each reason to offer nothing. */
export function decisionAt<Item extends Contender>(
  plan: Plan<Item>,
  place: number,
): Decision<Item> {
  if (place >= 0) return { reason: 'offered', candidate: plan.list[place] as Item };
  return { reason: NO_OFFER_REASONS[-1 - place] as NoOfferReason, candidate: undefined };
}

/** The place of all devices, when it is the same for all; undefined when it depends on the device. */
export function fixedPlace(plan: Plan): number | undefined {
  for (let index = plan.from; index < plan.to; index++) {
    const { release } = plan.list[index] as Contender;
    if (!matchesFields(release.targeting, plan.fields)) continue;
    return fitsEverybody(release) ? index : undefined;
  }
  return placeWithout(plan.from === plan.to ? plan.reasonWithout : 'not-targeted');
}

function placeWithout(reason: NoOfferReason): number {
  return -1 - NO_OFFER_REASONS.indexOf(reason);
}

/** Why this device does not get this release of the plan; undefined when it fits. */
export function obstacleFor(
  release: CompiledRelease,
  plan: Plan,
  device: Device,
  barred: ReadonlySet<string>,
): NoOfferReason | undefined {
  const { targeting, threshold, seed, source } = release;
  if (!matchesFields(targeting, plan.fields)) return 'not-targeted';
  if (!matchesLabels(targeting.labelTests, device.labels)) return 'not-targeted';
  if (!isInCohort(threshold, seed, device.hash)) return 'outside-cohort';
  return barred.size > 0 && barred.has(source.id) ? 'first-offer-unavailable' : undefined;
}

/** Without an identity there is no bucket, so only a release for everybody fits. */
function isInCohort(threshold: number, seed: number, hash: number | undefined): boolean {
  if (threshold === COHORT_BUCKETS) return true;
  return hash !== undefined && cohortBucket(hash, seed) < threshold;
}
