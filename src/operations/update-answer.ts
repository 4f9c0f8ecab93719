// The answers of an update check: what an address asks for, and what a decision about it is as bytes.

import { candidateBytes } from '../domain/catalog.ts';
import type { Decision } from '../domain/decide.ts';
import { planUpdate, type UpdatePlan } from '../domain/plan.ts';
import type { RequestFields } from '../domain/targeting.ts';
import type { Version } from '../domain/version.ts';
import { type CheckSubject, checkSubject } from './check-subject.ts';
import type { Settled } from './check-update.ts';

export type UpdateSubject = CheckSubject<UpdatePlan>;

/** The manifest's bytes, or undefined when the device gets nothing, and why. */
export type UpdateAnswer = {
  readonly body: Buffer | undefined;
  readonly reason: Decision['reason'];
  /** The release whose manifest it is. */
  readonly releaseId: string | undefined;
};

/** A decision as what is sent. */
export function updateAnswer({ prepared, decision }: Settled<UpdatePlan>): UpdateAnswer {
  const { candidate, reason } = decision;
  if (candidate === undefined) return { body: undefined, reason, releaseId: undefined };
  const { catalog, isRequired, allowDowngrade } = prepared.plan;
  const body = candidateBytes(catalog, candidate, isRequired, allowDowngrade);
  return { body, reason, releaseId: candidate.release.source.id };
}

/** What a device asks that runs this version; `fields` are folded, `app` is a ref or an id. */
export function updateSubject(
  app: string,
  channel: string,
  fields: RequestFields & { readonly version: Version },
): UpdateSubject {
  return checkSubject(app, channel, fields, (catalog) => planUpdate(catalog, fields));
}
