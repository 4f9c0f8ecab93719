// Decides update checks for the clients of every updater. With a loaded catalog, `now` decides without
// waiting. `later` is asynchronous, for a channel that is not loaded, a release's first offer, and labels
// that the request does not have.

import { type Failure, failUntil, isFailure, type Outcome } from '../contract/failure.ts';
import type { MistakenId } from '../contract/ref.ts';
import { Unavailable, whenAway } from '../contract/store-fault.ts';
import type { Candidate, Catalog } from '../domain/decision/catalog.ts';
import type { Device } from '../domain/decision/rule/decision-rule.ts';
import type { Labels } from '../domain/decision/targeting.ts';
import { mergeLabels } from '../domain/fleet/labels.ts';
import { type NetworkWords, readNetwork } from '../domain/fleet/network-words.ts';
import type { CheckInBuffer } from '../fleet/check-in-buffer.ts';
import type { DeviceLabels } from '../fleet/device-labels.ts';
import type { LedgerClock } from '../fleet/ledger-clock.ts';
import type { MistakenIds } from '../fleet/mistaken-ids.ts';
import type { Asker } from '../flow/batcher.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { LabelNote } from '../store/label-store.ts';
import type { CatalogSlot, CheckQuery, PlanDecision, PreparedPlan } from './catalog-slot.ts';
import type { Catalogs } from './catalogs.ts';
import type { FirstOffers } from './first-offers.ts';

/** Device that asks. Without an id it has no cohort and no stored labels, and no check-in is recorded. */
export type CheckDevice = {
  readonly id: string | undefined;
  /** Kind of mistaken id that the request has instead of an id; ignored if there is an id. */
  readonly mistake?: MistakenId | undefined;
  /** `hashText` of the id. */
  readonly hash: number | undefined;
  /** Labels of the request. */
  readonly labels: Labels;
  /** `tagLabels` of `labels`. */
  readonly labelsTag: number;
  readonly network: NetworkWords;
  /** Slice to decide for instead of one device, which then has no id. */
  readonly slice?: number | undefined;
};

export type CheckUpdateDependencies = {
  readonly catalogs: Catalogs;
  readonly firstOffers: FirstOffers;
  readonly labels: DeviceLabels;
  readonly checkIns: CheckInBuffer;
  readonly clock: Pick<LedgerClock, 'now'>;
  readonly mistakenIds: Pick<MistakenIds, 'note'>;
  readonly metrics: Metrics;
};

/** Maximum number of times that a first offer is decided again because the channel changed meanwhile. */
const DECISIONS_MAX = 10;

/** Retry time in milliseconds for a device that could be offered nothing but a first offer. */
const RETRY_MS = 1000;

export class CheckUpdate {
  constructor(private readonly dependencies: CheckUpdateDependencies) {}

  /**
   * Decides if that needs no waiting; undefined sends the caller to `later`. `readMs` is a reading of the
   * process's monotonic clock that the caller has just made: another one would cost 3 % of a check.
   */
  now<Item extends Candidate>(
    query: CheckQuery<Item>,
    device: CheckDevice,
    readMs?: number,
  ): PlanDecision<Item> | undefined {
    const { scope } = query;
    scope.slot ??= this.dependencies.catalogs.peek(scope.app, scope.channel);
    const prepared = scope.slot?.planFor(query);
    if (prepared === undefined) {
      scope.slot = undefined;
      return undefined;
    }
    if (this.mustWaitForLabels(prepared, device)) return undefined;
    const decision = prepared.decide(device);
    if (isFirstOffer(decision)) return undefined;
    // If a release asks for labels, those of the request are stored by now: otherwise the check would wait.
    const { asksForLabels } = prepared.plan.catalog;
    const unstored = asksForLabels ? undefined : this.unstoredOf(prepared, device);
    return this.conclude(query, device, decision, unstored, readMs);
  }

  /**
   * Returns the refusal of a check if one is known at once: an unknown name, or a fault of the last 0.5 s.
   */
  refused({ scope }: CheckQuery): Failure | undefined {
    return this.dependencies.catalogs.refused(scope.app, scope.channel);
  }

  /**
   * Notes the labels of a check that `now` did not decide, if it waits for nothing else. `asker` gets whether
   * they are noted, and then calls `noted` or `later`. Returns false, and never calls `asker`, if only
   * `later` can find out what the check waits for.
   */
  noteLabels(query: CheckQuery, device: CheckDevice, asker: Asker<boolean>): boolean {
    const { id, labels, labelsTag } = device;
    const prepared = query.scope.slot?.planFor(query);
    if (prepared === undefined || id === undefined || labels.size === 0) return false;
    const { catalog, labelKeys } = prepared.plan;
    if (!catalog.asksForLabels || !hasKeys(labels, labelKeys)) return false;
    const { appId } = catalog.snapshot;
    const note = { appId, deviceId: id, labels, at: this.dependencies.clock.now() };
    return this.dependencies.labels.noteSoon(note, labelsTag, asker);
  }

  /** Decides a check whose labels have been noted, if that needs no more waiting; else undefined. */
  noted<Item extends Candidate>(
    query: CheckQuery<Item>,
    device: CheckDevice,
  ): PlanDecision<Item> | undefined {
    const prepared = query.scope.slot?.planFor(query);
    if (prepared === undefined || !hasKeys(device.labels, prepared.plan.labelKeys))
      return undefined;
    const decision = prepared.decide(device);
    if (isFirstOffer(decision)) return undefined;
    return this.conclude(query, device, decision, this.unstoredOf(prepared, device));
  }

  /**
   * Waits for what is missing, then decides. `isNoted` is the answer that `noteLabels` gave the asker, if it
   * was called.
   */
  async later<Item extends Candidate>(
    query: CheckQuery<Item>,
    device: CheckDevice,
    isNoted?: boolean,
  ): Promise<Outcome<PlanDecision<Item>>> {
    const { scope } = query;
    const slot = await this.dependencies.catalogs.find(scope.app, scope.channel);
    if (isFailure(slot)) return slot;
    scope.slot = slot;
    const prepared = slot.planFor(query);
    if (prepared === undefined) return this.later(query, device, isNoted);
    const labels = await this.labelsFor(query, prepared, device, isNoted);
    const unstored = this.unstoredOf(prepared, device);
    const known = { hash: device.hash, labels, slice: device.slice };
    const decision = await this.decide(query, slot, prepared.plan.labelKeys, known);
    if (decision === undefined) return this.later(query, device, isNoted);
    if (isFailure(decision)) {
      const { appRef } = prepared.plan.catalog.snapshot;
      this.dependencies.metrics.checks.of(appRef)['first-offer-unavailable'].count += 1;
      return decision;
    }
    return this.conclude(query, device, decision, unstored);
  }

  /**
   * Decides for a device with these labels, and records the offer if it is the release's first. Refuses if
   * only releases are left whose first offer could not be recorded, because the device is not up to date.
   * Undefined if the channel was evicted, or depends on labels that were not read: the caller starts again.
   */
  async decide<Item extends Candidate>(
    query: CheckQuery<Item>,
    slot: CatalogSlot,
    labelKeys: readonly string[],
    device: Device,
  ): Promise<Outcome<PlanDecision<Item>> | undefined> {
    const excluded = new Set<string>();
    for (let stale = 0; ; ) {
      const prepared = slot.planFor(query);
      if (prepared === undefined) return undefined;
      const { plan } = prepared;
      if (!includesAll(labelKeys, plan.labelKeys)) return undefined;
      const decision = prepared.decide(device, excluded);
      const { candidate } = decision;
      if (candidate === undefined) {
        const isNothing = excluded.size === 0 || prepared.decide(device).candidate === undefined;
        return isNothing ? decision : failUntil('unavailable', RETRY_MS);
      }
      if (candidate.release.offered) return decision;
      const outcome = await this.recordOffer(plan.catalog, candidate, stale < DECISIONS_MAX);
      if (outcome === 'recorded') return decision;
      if (outcome === 'stale') stale += 1;
      else excluded.add(candidate.release.source.id);
    }
  }

  /** Returns whether the decision needs labels that this process lacks or must store first. */
  private mustWaitForLabels(
    prepared: PreparedPlan,
    { id, labels, labelsTag }: CheckDevice,
  ): boolean {
    if (id === undefined) return false;
    if (labels.size === 0) return prepared.asksForLabels;
    // Labels that decide nothing travel with the check-in, and the request waits for no store.
    if (!prepared.plan.catalog.asksForLabels) return false;
    if (!hasKeys(labels, prepared.plan.labelKeys)) return true;
    const { appId } = prepared.plan.catalog.snapshot;
    return !this.dependencies.labels.areStored({ appId, deviceId: id }, labelsTag);
  }

  /** Returns the labels to decide by: the request's, stored if they are new, over those stored before. */
  private async labelsFor(
    { version }: CheckQuery,
    prepared: PreparedPlan,
    device: CheckDevice,
    isNoted: boolean | undefined,
  ): Promise<Labels> {
    const { id, labels } = device;
    const { plan } = prepared;
    if (id === undefined || !this.mustWaitForLabels(prepared, device)) return labels;
    const store = this.dependencies.labels;
    const { appId } = plan.catalog.snapshot;
    try {
      if (labels.size === 0) return await store.read({ appId, deviceId: id });
      const at = this.dependencies.clock.now();
      const note = { appId, deviceId: id, labels, at };
      if (isNoted ?? (await this.isOnItsWay(note, device.labelsTag))) {
        if (hasKeys(labels, plan.labelKeys)) return labels;
        return mergeLabels(await store.read({ appId, deviceId: id }), labels);
      }
      const who = {
        deviceId: id,
        at,
        labels,
        version: version?.canonical,
        network: readNetwork(device.network, 0),
      };
      const checkIn = { ...prepared.undecided, ...who };
      return mergeLabels(await store.store(checkIn), labels);
    } catch (error) {
      // Without a store, the request's labels suffice if they are all that counts; the check-in carries them.
      if (error instanceof Unavailable && hasKeys(labels, plan.labelKeys)) return labels;
      throw error;
    }
  }

  /**
   * Returns whether the request's labels count on every node from now on without waiting for the ledger: a
   * check-in has carried them, or this one will, and the engine has them meanwhile.
   */
  private async isOnItsWay(note: LabelNote, labelsTag: number): Promise<boolean> {
    const { labels } = this.dependencies;
    return labels.areStored(note, labelsTag) || labels.note(note, labelsTag);
  }

  /** Returns the request's labels unless they are stored: the check-in carries them to the ledger. */
  private unstoredOf(
    { plan }: PreparedPlan,
    { id, labels, labelsTag }: CheckDevice,
  ): Labels | undefined {
    if (id === undefined || labels.size === 0) return undefined;
    const device = { appId: plan.catalog.snapshot.appId, deviceId: id };
    return this.dependencies.labels.areStored(device, labelsTag) ? undefined : labels;
  }

  /** Records a first offer. If the catalog is stale, loads a newer one before it resolves. */
  async recordOffer(
    catalog: Catalog,
    { release }: Candidate,
    mayRetry: boolean,
  ): Promise<'recorded' | 'stale' | 'unavailable'> {
    const outcome = await this.dependencies.firstOffers.record(catalog, release);
    if (outcome !== 'stale') return outcome;
    if (!mayRetry) return 'unavailable';
    const { channelId, epoch, revision } = catalog.snapshot;
    const read = this.dependencies.catalogs.catchUp(channelId, { epoch, revision: revision + 1 });
    return read.then(
      () => 'stale',
      // The store became unreachable between the two calls.
      whenAway(() => 'unavailable'),
    );
  }

  /**
   * Counts the check and queues its check-in, with the labels that are not stored yet. Stored ones are left
   * out: written again with the time of this check-in, they could override a report made meanwhile.
   */
  private conclude<Item extends Candidate>(
    { reported }: CheckQuery,
    { id, mistake, labelsTag, network }: CheckDevice,
    decision: PlanDecision<Item>,
    unstored: Labels | undefined,
    readMs?: number,
  ): PlanDecision<Item> {
    const { checkIns, clock, labels, mistakenIds } = this.dependencies;
    decision.counted.count += 1;
    if (id === undefined) {
      if (mistake !== undefined) mistakenIds.note(decision.plan.catalog.snapshot, mistake);
      return decision;
    }
    const at = clock.now(readMs);
    const isTaken = checkIns.add(decision.context, reported, id, at, unstored, network);
    if (isTaken && unstored !== undefined) {
      const { snapshot, asksForLabels } = decision.plan.catalog;
      labels.noteSent({ appId: snapshot.appId, deviceId: id }, labelsTag, asksForLabels);
    }
    return decision;
  }
}

/** Returns whether the release was never offered: its first offer must be recorded first. */
function isFirstOffer({ candidate }: PlanDecision): boolean {
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
