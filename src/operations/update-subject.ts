// The subject of an update check: what an address asks for, and what a decision about it is as bytes.

import { candidateBytes } from '../domain/catalog.ts';
import { planUpdate, type UpdatePlan } from '../domain/plan.ts';
import type { Version } from '../domain/version.ts';
import type { Settled } from './catalog-slot.ts';
import { type CheckOrigin, type CheckSubject, checkOrigin } from './check-subject.ts';

export type UpdateSubject = CheckSubject<UpdatePlan>;
export type UpdateOrigin = CheckOrigin<UpdatePlan>;

/** The manifest that is offered, as what is sent; undefined when the device gets nothing. */
export function manifestOf({ plan, candidate }: Settled<UpdatePlan>): Buffer | undefined {
  if (candidate === undefined) return undefined;
  return candidateBytes(plan.catalog, candidate, plan.isRequired, plan.allowDowngrade);
}

/**
 * What devices on such machines ask, all of which report a version; platform and arch are folded, `app` is a
 * ref or an id.
 */
export function updateOrigin(
  app: string,
  channel: string,
  platform: string,
  arch: string,
): UpdateOrigin {
  return checkOrigin({
    ...{ app, channel, platform, arch },
    // Names may hold any character: the length keeps two pairs from meeting in one key.
    planKey: `update ${platform.length} ${platform}${arch}`,
    plan: (catalog, version) =>
      planUpdate(catalog, { version: version as Version, platform, arch }),
  });
}
