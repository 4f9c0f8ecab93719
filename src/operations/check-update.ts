// The device's question, whichever way it is asked: what is on offer for me? On a warm catalog the answer is
// there at once and nothing waits; only a cold channel, a release's first offer and labels that are not in
// the request take the second, asynchronous way.

import { type Failure, isFailure, type Outcome } from '../contract/failure.ts';
import type { Catalog } from '../domain/catalog.ts';
import { mergeLabels } from '../domain/merge-labels.ts';
import type { Contender, Plan } from '../domain/plan.ts';
import type { Labels } from '../domain/targeting.ts';
import type { Metrics } from '../observe/metrics.ts';
import { Unavailable } from '../ports/unavailable.ts';
import { type CatalogSlot, originOf, type PreparedPlan, type Settled } from './catalog-slot.ts';
import type { Catalogs } from './catalogs.ts';
import type { CheckIns } from './check-ins.ts';
import type { CheckSubject } from './check-subject.ts';
import type { DeviceLabels } from './device-labels.ts';
import type { FirstOffers } from './first-offer.ts';

/** Who asks. Without an id a device has no cohort, no stored labels, and leaves no trace. */
export type CheckDevice = {
  readonly id: string | undefined;
  /** `hashText` of the id. */
  readonly hash: number | undefined;
  /** Those of the request. */
  readonly labels: Labels;
  /** `tagLabels` of them. */
  readonly labelsTag: number;
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
    const { origin } = subject;
    origin.slot ??= this.dependencies.catalogs.peek(origin.app, origin.channel);
    const prepared = origin.slot?.planFor(subject);
    if (prepared === undefined) {
      origin.slot = undefined;
      return undefined;
    }
    if (this.mustWaitForLabels(prepared, device)) return undefined;
    const settled = prepared.settle(device);
    if (isFirstOffer(settled)) return undefined;
    // Whatever labels there are, the record has them: else they would have been waited for.
    return this.conclude(subject, device, settled, undefined);
  }

  /** The refusal that can be given without waiting: what was unknown a moment ago is still believed to be. */
  refused({ origin }: CheckSubject): Failure | undefined {
    return this.dependencies.catalogs.refused(origin.app, origin.channel);
  }

  /** The decision, after whatever it has to wait for. 404 unknown, 503 cannot be told. */
  async later<Planned extends Plan>(
    subject: CheckSubject<Planned>,
    device: CheckDevice,
  ): Promise<Outcome<Settled<Planned>>> {
    const { origin } = subject;
    const slot = await this.dependencies.catalogs.find(origin.app, origin.channel);
    if (isFailure(slot)) return slot;
    origin.slot = slot;
    const prepared = slot.planFor(subject);
    if (prepared === undefined) return this.later(subject, device);
    const labels = await this.labelsFor(subject, prepared, device);
    const known = { hash: device.hash, labels };
    const settled = await this.settle(subject, slot, prepared.plan.labelKeys, known);
    if (settled === undefined) return this.later(subject, device);
    return this.conclude(subject, device, settled, device.labels);
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
      const prepared = slot.planFor(subject);
      if (prepared === undefined) return undefined;
      const { plan } = prepared;
      if (!includesAll(labelKeys, plan.labelKeys)) return undefined;
      const settled = prepared.settle(device, barred);
      const { candidate } = settled;
      if (candidate === undefined || candidate.release.offered) return settled;
      const outcome = await this.recordOffer(plan.catalog, candidate, stale < DECISIONS_MAX);
      if (outcome === 'recorded') return settled;
      if (outcome === 'stale') stale += 1;
      else barred.add(candidate.release.source.id);
    }
  }

  /** Whether the labels that decide, or that are to be stored, are not all in this process. */
  private mustWaitForLabels(
    prepared: PreparedPlan,
    { id, labels, labelsTag }: CheckDevice,
  ): boolean {
    if (id === undefined) return false;
    if (labels.size === 0) return prepared.asksForLabels;
    if (!hasKeys(labels, prepared.plan.labelKeys)) return true;
    const { appId } = prepared.plan.catalog.snapshot;
    return !this.dependencies.labels.areStored({ appId, deviceId: id }, labelsTag);
  }

  /** The labels to decide by: the request's over the stored ones. Stores the request's where they are new. */
  private async labelsFor(
    { version }: CheckSubject,
    prepared: PreparedPlan,
    device: CheckDevice,
  ): Promise<Labels> {
    const { id, labels } = device;
    const { plan } = prepared;
    if (id === undefined || !this.mustWaitForLabels(prepared, device)) return labels;
    const store = this.dependencies.labels;
    const { appId } = plan.catalog.snapshot;
    try {
      if (labels.size === 0) return await store.read({ appId, deviceId: id });
      const who = { deviceId: id, at: Date.now(), labels, version: version?.canonical };
      const checkIn = { ...originOf(plan, undefined), ...who };
      return mergeLabels(await store.store(checkIn), labels);
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

  /** Hands the check-in over, with the labels that may not be in the record yet. */
  private conclude<Planned extends Plan>(
    { reported }: CheckSubject,
    { id }: CheckDevice,
    settled: Settled<Planned>,
    labels: Labels | undefined,
  ): Settled<Planned> {
    this.dependencies.metrics.checks.add(settled.reason);
    if (id !== undefined) {
      const carried = labels?.size === 0 ? undefined : labels;
      this.dependencies.checkIns.add(settled.origin, reported, id, Date.now(), carried);
    }
    return settled;
  }
}

/** A release's first offer has to be recorded before it is made. */
function isFirstOffer({ candidate }: Settled): boolean {
  return candidate !== undefined && !candidate.release.offered;
}

function hasKeys(labels: Labels, keys: readonly string[]): boolean {
  for (const key of keys) {
    if (!labels.has(key)) return false;
  }
  return true;
}

function includesAll(known: readonly string[], wanted: readonly string[]): boolean {
  return wanted.every((key) => known.includes(key));
}
