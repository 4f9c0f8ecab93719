// The device update check. On a warm catalog the answer is there at once and nothing waits; only a cold
// channel and a release's first offer take the second, asynchronous way.

import { isFailure, type Outcome } from '../contract/failure.ts';
import { type Candidate, type Catalog, candidateBytes } from '../domain/catalog.ts';
import { type Decision, type Device, decide } from '../domain/decide.ts';
import { type Plan, planUpdate } from '../domain/plan.ts';
import type { RequestFields } from '../domain/targeting.ts';
import type { Version } from '../domain/version.ts';
import type { Metrics } from '../observe/metrics.ts';
import { Unavailable } from '../ports/unavailable.ts';
import type { CatalogSlot, Catalogs } from './catalogs.ts';
import type { FirstOffers } from './first-offer.ts';

/**
 * What all checks of the same address have in common. The caller may keep it between checks: it remembers
 * where the catalog lies, and the plan made for it is kept there.
 */
export type CheckSubject = {
  readonly app: string;
  readonly channel: string;
  readonly fields: RequestFields & { readonly version: Version };
  slot: CatalogSlot | undefined;
};

/** The manifest's bytes, or undefined when this device gets nothing, and why. */
export type CheckAnswer = {
  readonly body: Buffer | undefined;
  readonly reason: Decision['reason'];
};

/** How often a first offer is decided again because the channel moved meanwhile. */
const DECISIONS_MAX = 10;

export class CheckUpdate {
  private readonly catalogs: Catalogs;
  private readonly firstOffers: FirstOffers;
  private readonly metrics: Metrics;

  constructor(catalogs: Catalogs, firstOffers: FirstOffers, metrics: Metrics) {
    this.catalogs = catalogs;
    this.firstOffers = firstOffers;
    this.metrics = metrics;
  }

  /** The answer, when it can be given without waiting; undefined sends the caller to `later`. */
  now(subject: CheckSubject, device: Device): CheckAnswer | undefined {
    subject.slot ??= this.catalogs.peek(subject.app, subject.channel);
    const { slot } = subject;
    const plan = slot === undefined ? undefined : planFor(subject, slot);
    if (plan === undefined) {
      subject.slot = undefined;
      return undefined;
    }
    const decision = decide(plan, device);
    if (decision.candidate !== undefined && !decision.candidate.release.offered) return undefined;
    return this.answer(plan, decision);
  }

  /** The answer, after loading the channel or recording a first offer. 404 unknown, 503 cannot be told. */
  async later(subject: CheckSubject, device: Device): Promise<Outcome<CheckAnswer>> {
    const slot = await this.catalogs.find(subject.app, subject.channel);
    if (isFailure(slot)) return slot;
    subject.slot = slot;
    const barred = new Set<string>();
    for (let stale = 0; ; ) {
      const plan = planFor(subject, slot);
      if (plan === undefined) return this.later(subject, device);
      const decision = decide(plan, device, barred);
      const { candidate } = decision;
      if (candidate === undefined || candidate.release.offered) return this.answer(plan, decision);
      const outcome = await this.settle(plan.catalog, candidate, stale < DECISIONS_MAX);
      if (outcome === 'recorded') return this.answer(plan, decision);
      if (outcome === 'stale') stale += 1;
      else barred.add(candidate.release.source.id);
    }
  }

  /** Records a first offer; when the catalog turns out stale, fetches a newer one before saying so. */
  private async settle(
    catalog: Catalog,
    { release }: Candidate,
    mayRetry: boolean,
  ): Promise<'recorded' | 'stale' | 'unavailable'> {
    const outcome = await this.firstOffers.record(catalog, release);
    if (outcome !== 'stale') return outcome;
    if (!mayRetry) return 'unavailable';
    const { channelId, revision } = catalog.snapshot;
    try {
      await this.catalogs.chase(channelId, revision + 1);
      return 'stale';
    } catch (error) {
      // The store went away between the two calls.
      if (error instanceof Unavailable) return 'unavailable';
      throw error;
    }
  }

  private answer(plan: Plan, decision: Decision): CheckAnswer {
    this.metrics.checks.add(decision.reason);
    const { candidate, reason } = decision;
    if (candidate === undefined) return { body: undefined, reason };
    const { catalog, isRequired, allowDowngrade } = plan;
    return { body: candidateBytes(catalog, candidate, isRequired, allowDowngrade), reason };
  }
}

/** The plan for a subject on the slot's catalog, made once per catalog; undefined when it was evicted. */
function planFor(subject: CheckSubject, slot: CatalogSlot): Plan | undefined {
  const known = slot.plans.get(subject);
  if (known !== undefined || slot.catalog === undefined) return known;
  const plan = planUpdate(slot.catalog, subject.fields);
  slot.plans.set(subject, plan);
  return plan;
}
