// The subject of an update check: what an address asks for, and what a decision about it is as bytes.

import { candidateBytes } from '../domain/catalog.ts';
import { planUpdate, type UpdatePlan } from '../domain/plan.ts';
import type { RequestFields } from '../domain/targeting.ts';
import type { Version } from '../domain/version.ts';
import type { Settled } from './catalog-slot.ts';
import { type CheckSubject, checkSubject } from './check-subject.ts';

export type UpdateSubject = CheckSubject<UpdatePlan>;

/** The manifest that is offered, as what is sent; undefined when the device gets nothing. */
export function manifestOf({ plan, candidate }: Settled<UpdatePlan>): Buffer | undefined {
  if (candidate === undefined) return undefined;
  return candidateBytes(plan.catalog, candidate, plan.isRequired, plan.allowDowngrade);
}

/** What a device asks that runs this version; `fields` are folded, `app` is a ref or an id. */
export function updateSubject(
  app: string,
  channel: string,
  fields: RequestFields & { readonly version: Version },
): UpdateSubject {
  return checkSubject(app, channel, fields, (catalog) => planUpdate(catalog, fields));
}
