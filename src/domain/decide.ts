// The decision itself: walks a plan for one device. Pure and synchronous; every answer has a reason.

import type { CompiledRelease } from './catalog.ts';
import { COHORT_BUCKETS, cohortBucket } from './cohort.ts';
import type { Contender, NoOfferReason, Plan } from './plan.ts';
import { type Labels, matchesFields, matchesLabels } from './targeting.ts';

export type Decision<Item extends Contender = Contender> =
  | { readonly reason: 'offered'; readonly candidate: Item }
  | NoOffer;

type NoOffer = { readonly reason: NoOfferReason; readonly candidate: undefined };

export type Device = {
  /** `hashText` of the device id; undefined when the device did not identify itself. */
  readonly hash: number | undefined;
  readonly labels: Labels;
};

/** Shared, so that the common "nothing for you" costs no object. */
const NO_OFFER: { readonly [Reason in NoOfferReason]: NoOffer } = {
  'up-to-date': { reason: 'up-to-date', candidate: undefined },
  'no-artifact': { reason: 'no-artifact', candidate: undefined },
  'not-targeted': { reason: 'not-targeted', candidate: undefined },
  'outside-cohort': { reason: 'outside-cohort', candidate: undefined },
  'rolled-back-without-fallback': { reason: 'rolled-back-without-fallback', candidate: undefined },
  'first-offer-unavailable': { reason: 'first-offer-unavailable', candidate: undefined },
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
  let reason: NoOfferReason | undefined;
  for (let index = plan.from; index < plan.to; index++) {
    const candidate = plan.list[index] as Item;
    const obstacle = obstacleFor(candidate.release, plan, device, barred);
    if (obstacle === undefined) return { reason: 'offered', candidate };
    reason ??= obstacle;
  }
  return NO_OFFER[reason ?? plan.reasonWithout];
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
  return barred.has(source.id) ? 'first-offer-unavailable' : undefined;
}

/** Without an identity there is no bucket, so only a release for everybody fits. */
function isInCohort(threshold: number, seed: number, hash: number | undefined): boolean {
  if (threshold === COHORT_BUCKETS) return true;
  return hash !== undefined && cohortBucket(hash, seed) < threshold;
}
