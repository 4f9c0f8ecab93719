// The device's question, whichever way it is asked: what is on offer for me? On a warm catalog the answer is
// there at once and nothing waits; only a cold channel, a release's first offer and labels that are not in
// the request take the second, asynchronous way.

import { isFailure, type Outcome } from '../contract/failure.ts';
import type { Catalog } from '../domain/catalog.ts';
import type { CheckIn } from '../domain/check-in.ts';
import { type Decision, decide } from '../domain/decide.ts';
import { mergeLabels } from '../domain/merge-labels.ts';
import type { Contender, Plan } from '../domain/plan.ts';
import type { Labels, RequestFields } from '../domain/targeting.ts';
import type { Metrics } from '../observe/metrics.ts';
import { Unavailable } from '../ports/unavailable.ts';
import type { CatalogSlot, Catalogs } from './catalogs.ts';
import type { CheckIns } from './check-ins.ts';
import type { DeviceLabels } from './device-labels.ts';
import type { FirstOffers } from './first-offer.ts';

/**
 * What all checks of the same address have in common. The caller may keep it between checks: it remembers
 * where the catalog lies, and the plan made for it is kept there.
 */
export type CheckSubject<Planned extends Plan = Plan> = {
  readonly app: string;
  readonly channel: string;
  readonly fields: RequestFields;
  /** The plan for this address on a catalog. */
  readonly plan: (catalog: Catalog) => Planned;
  slot: CatalogSlot | undefined;
};

/** Who asks. Without an id a device has no cohort, no stored labels, and leaves no trace. */
export type CheckDevice = {
  readonly id: string | undefined;
  /** `hashText` of the id. */
  readonly hash: number | undefined;
  /** Those of the request. */
  readonly labels: Labels;
};

/** What was decided, and the plan that says what the decision means. */
export type Settled<Planned extends Plan> = {
  readonly plan: Planned;
  readonly decision: Decision<Planned['list'][number]>;
};

export type CheckUpdateDependencies = {
  readonly catalogs: Catalogs;
  readonly firstOffers: FirstOffers;
  readonly labels: DeviceLabels;
  readonly checkIns: CheckIns;
  readonly metrics: Metrics;
};

/** How often a first offer is decided again because the channel moved meanwhile. */
const DECISIONS_MAX = 10;

export class CheckUpdate {
  private readonly dependencies: CheckUpdateDependencies;

  constructor(dependencies: CheckUpdateDependencies) {
    this.dependencies = dependencies;
  }

  /** The decision, when it can be made without waiting; undefined sends the caller to `later`. */
  now<Planned extends Plan>(
    subject: CheckSubject<Planned>,
    device: CheckDevice,
  ): Settled<Planned> | undefined {
    subject.slot ??= this.dependencies.catalogs.peek(subject.app, subject.channel);
    const { slot } = subject;
    const plan = slot === undefined ? undefined : planFor(subject, slot);
    if (plan === undefined) {
      subject.slot = undefined;
      return undefined;
    }
    if (this.mustWaitForLabels(plan, device)) return undefined;
    const decision = decide(plan, device);
    if (decision.candidate !== undefined && !decision.candidate.release.offered) return undefined;
    return this.conclude(subject, device, { plan, decision });
  }

  /** The decision, after whatever it has to wait for. 404 unknown, 503 cannot be told. */
  async later<Planned extends Plan>(
    subject: CheckSubject<Planned>,
    device: CheckDevice,
  ): Promise<Outcome<Settled<Planned>>> {
    const slot = await this.dependencies.catalogs.find(subject.app, subject.channel);
    if (isFailure(slot)) return slot;
    subject.slot = slot;
    const plan = planFor(subject, slot);
    if (plan === undefined) return this.later(subject, device);
    const labels = await this.labelsFor(subject, plan, device);
    const settled = await this.settle(subject, slot, plan.labelKeys, { hash: device.hash, labels });
    return settled === undefined
      ? this.later(subject, device)
      : this.conclude(subject, device, settled);
  }

  /**
   * The decision for a device with these labels, its first offer recorded where it is one. Undefined when
   * the channel was evicted, or asks for other labels than those that were looked up: begin again.
   */
  async settle<Planned extends Plan>(
    subject: CheckSubject<Planned>,
    slot: CatalogSlot,
    labelKeys: readonly string[],
    device: { readonly hash: number | undefined; readonly labels: Labels },
  ): Promise<Settled<Planned> | undefined> {
    const barred = new Set<string>();
    for (let stale = 0; ; ) {
      const plan = planFor(subject, slot);
      if (plan === undefined || !includesAll(labelKeys, plan.labelKeys)) return undefined;
      const decision = decide(plan, device, barred);
      const { candidate } = decision;
      if (candidate === undefined || candidate.release.offered) return { plan, decision };
      const outcome = await this.recordOffer(plan.catalog, candidate, stale < DECISIONS_MAX);
      if (outcome === 'recorded') return { plan, decision };
      if (outcome === 'stale') stale += 1;
      else barred.add(candidate.release.source.id);
    }
  }

  /** Whether the labels that decide, or that are to be stored, are not all in this process. */
  private mustWaitForLabels(plan: Plan, { id, labels }: CheckDevice): boolean {
    if (id === undefined) return false;
    // Those of the request are looked at every time: another node may have stored others since.
    return labels.size > 0 || !hasKeys(labels, plan.labelKeys);
  }

  /** The labels to decide by: the request's over the stored ones. Stores the request's where they are new. */
  private async labelsFor(subject: CheckSubject, plan: Plan, device: CheckDevice): Promise<Labels> {
    const { id, labels } = device;
    if (id === undefined || !this.mustWaitForLabels(plan, device)) return labels;
    const store = this.dependencies.labels;
    try {
      if (labels.size === 0) {
        return await store.read({ appId: plan.catalog.snapshot.appId, deviceId: id });
      }
      const checkIn = describeCheckIn(subject, plan.catalog, { ...device, id }, undefined);
      return mergeLabels(await store.store({ ...checkIn, labels }), labels);
    } catch (error) {
      // Without any store the request's labels decide if they are enough: their check-in carries them on.
      if (error instanceof Unavailable && hasKeys(labels, plan.labelKeys)) return labels;
      throw error;
    }
  }

  /** Records a first offer; when the catalog turns out stale, fetches a newer one before saying so. */
  private async recordOffer(
    catalog: Catalog,
    { release }: Contender,
    mayRetry: boolean,
  ): Promise<'recorded' | 'stale' | 'unavailable'> {
    const outcome = await this.dependencies.firstOffers.record(catalog, release);
    if (outcome !== 'stale') return outcome;
    if (!mayRetry) return 'unavailable';
    const { channelId, revision } = catalog.snapshot;
    try {
      await this.dependencies.catalogs.chase(channelId, revision + 1);
      return 'stale';
    } catch (error) {
      // The store went away between the two calls.
      if (error instanceof Unavailable) return 'unavailable';
      throw error;
    }
  }

  /** Hands the check-in over. */
  private conclude<Planned extends Plan>(
    subject: CheckSubject<Planned>,
    device: CheckDevice,
    settled: Settled<Planned>,
  ): Settled<Planned> {
    const { metrics, checkIns } = this.dependencies;
    const { plan, decision } = settled;
    metrics.checks.add(decision.reason);
    const { id } = device;
    if (id !== undefined) {
      const offered = decision.candidate?.release.source.id;
      checkIns.add(describeCheckIn(subject, plan.catalog, { ...device, id }, offered));
    }
    return settled;
  }
}

function describeCheckIn(
  { fields }: CheckSubject,
  { snapshot }: Catalog,
  device: { readonly id: string; readonly labels: Labels },
  offeredReleaseId: string | undefined,
): CheckIn {
  return {
    appId: snapshot.appId,
    deviceId: device.id,
    channel: snapshot.channel,
    version: fields.version?.canonical,
    platform: fields.platform,
    arch: fields.arch,
    source: 'pull',
    at: Date.now(),
    labels: device.labels.size === 0 ? undefined : device.labels,
    offeredReleaseId,
  };
}

/** The plan for a subject on the slot's catalog, made once per catalog; undefined when it was evicted. */
export function planFor<Planned extends Plan>(
  subject: CheckSubject<Planned>,
  slot: CatalogSlot,
): Planned | undefined {
  // Whatever stands there for a subject, its own `plan` has made.
  const known = slot.plans.get(subject) as Planned | undefined;
  if (known !== undefined || slot.catalog === undefined) return known;
  const plan = subject.plan(slot.catalog);
  slot.plans.set(subject, plan);
  return plan;
}

function hasKeys(labels: Labels, keys: readonly string[]): boolean {
  return keys.every((key) => labels.has(key));
}

function includesAll(known: readonly string[], wanted: readonly string[]): boolean {
  return wanted.every((key) => known.includes(key));
}
