// Catalogs that this node serves from: found by name, loaded on the first request, replaced when a newer
// state becomes known, and never replaced by an older one.
//
// A channel that is not loaded is read from the ledger, else from the engine, else from this node's disk. A
// loaded channel that changed is read from the engine when that has the announced revision, else from the
// ledger: so a publish is read from the ledger once for a thousand nodes, and a lost message only costs time.

import { LRUCache } from 'lru-cache';
import { type Failure, fail, failUntil, isFailure, type Outcome } from '../../contract/failure.ts';
import { isRef } from '../../contract/ref.ts';
import type { Catalog } from '../../domain/decision/catalog.ts';
import { compareServing, orderOf, type ServingOrder } from '../../domain/decision/serving-order.ts';
import type { ServingSnapshot } from '../../domain/decision/serving-snapshot.ts';
import { ConcurrencyLimit } from '../../flow/concurrency-limit.ts';
import type { Metrics } from '../../observe/metrics.ts';
import type { RareLog } from '../../observe/rare-log.ts';
import type { Announcement, Engine } from '../../ports/engine.ts';
import type { LastGood } from '../../ports/last-good.ts';
import type { Ledger } from '../../ports/ledger.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import { CatalogSlot, PlanBudget } from './catalog-slot.ts';
import { ColdLoads } from './cold-loads.ts';
import { compileInSlices } from './compile-in-slices.ts';
import type { KnownChannels, NoCatalog } from './known-channels.ts';

export type CatalogDependencies = {
  readonly ledger: Ledger;
  readonly engine: Engine;
  readonly lastGood: LastGood;
  readonly known: KnownChannels;
  readonly log: RareLog;
  readonly metrics: Metrics;
};

const CHANNELS_MAX = 10_000;
const NAMES_MAX = 20_000;
const REFUSALS_MAX = 20_000;
/** Milliseconds for which "unavailable" is remembered without asking again. */
const REFUSAL_TTL_MS = 500;
const HEARD_MAX = 10_000;
const COLD_RETRY_MS = 1000;
/**
 * Maximum number of names at a time that are asked of the ledger because the list of names is cut off, of
 * names that wait, and the longest wait in milliseconds. Clients invent names, and publishers need the
 * ledger's connections.
 */
const UNLISTED_RUNNING_MAX = 2;
const UNLISTED_WAITING_MAX = 200;
const UNLISTED_WAIT_MS_MAX = 1000;

export class Catalogs {
  private readonly dependencies: CatalogDependencies;
  private readonly plans = new PlanBudget();
  private readonly slots = new LRUCache<string, CatalogSlot>({
    max: CHANNELS_MAX,
    dispose: (slot) => {
      // Callers may still hold the slot.
      slot.replace(undefined);
    },
  });
  private readonly names = new LRUCache<string, CatalogSlot>({ max: NAMES_MAX });
  private readonly refusals = new LRUCache<string, Failure<NoCatalog>>({
    max: REFUSALS_MAX,
    ttl: REFUSAL_TTL_MS,
  });
  private readonly cold: ColdLoads;
  private readonly unlistedGate = new ConcurrencyLimit(
    UNLISTED_RUNNING_MAX,
    UNLISTED_WAITING_MAX,
    UNLISTED_WAIT_MS_MAX,
  );
  private readonly chases = new Map<string, { wanted: ServingOrder; done: Promise<void> }>();
  /** Reads of the ledger by channel name: the one in progress, and the one that waits for its end. */
  private readonly reading = new Map<string, Promise<void>>();
  private readonly nextReads = new Map<string, Promise<ServingSnapshot | undefined>>();
  /** Latest announced state of channels that were not loaded at that time. */
  private readonly heard = new LRUCache<string, ServingOrder>({ max: HEARD_MAX });

  constructor(dependencies: CatalogDependencies) {
    this.dependencies = dependencies;
    this.cold = new ColdLoads(
      {
        ledger: ({ appRef, channel }) => this.readLedger(appRef, channel),
        elsewhere: ({ appRef, channel }) => this.readElsewhere(appRef, channel),
      },
      dependencies.metrics,
      dependencies.log,
    );
  }

  /** Returns the slot of a loaded channel without waiting; `app` is a ref or an id. */
  peek(app: string, channel: string): CatalogSlot | undefined {
    const slot = this.names.get(channelNameOf(app, channel));
    return slot?.catalog === undefined ? undefined : slot;
  }

  /** Returns the refusal of a channel, where that is known without waiting. */
  refused(app: string, channel: string): Failure<NoCatalog> | undefined {
    const refusal = this.refusals.get(channelNameOf(app, channel));
    if (refusal !== undefined) return refusal;
    const { known } = this.dependencies;
    const found = known.find(app, channel);
    return isFailure(found) && !known.mayBeUnlisted ? found : undefined;
  }

  /** Returns the slot of a channel, loaded if need be; refuses a name that nobody created without a store. */
  async find(app: string, channel: string): Promise<Outcome<CatalogSlot, NoCatalog>> {
    const loaded = this.peek(app, channel) ?? this.refusals.get(channelNameOf(app, channel));
    if (loaded !== undefined) return loaded;
    const { known } = this.dependencies;
    let name = known.find(app, channel);
    if (name === undefined) {
      await known.settled();
      name = known.find(app, channel) ?? failUntil('unavailable', COLD_RETRY_MS);
    }
    if (!isFailure(name)) return this.load(app, name);
    if (name.failure === 'unavailable' || !known.mayBeUnlisted) return name;
    return this.unlistedGate.pass(() => this.load(app, { appRef: app, channel }));
  }

  /**
   * Returns the slot like `find`, for a caller with rights: the ledger is asked about a name that this node
   * does not know, because the caller may have heard of the channel earlier than this node.
   */
  async findForCaller(app: string, channel: string): Promise<Outcome<CatalogSlot, NoCatalog>> {
    if (!isRef(app)) return fail('unknownApp');
    if (!isRef(channel)) return fail('unknownChannel');
    const loaded = this.peek(app, channel) ?? this.refusals.get(channelNameOf(app, channel));
    if (loaded !== undefined) return loaded;
    const name = this.dependencies.known.find(app, channel);
    const isKnown = name !== undefined && !isFailure(name);
    return this.load(app, isKnown ? name : { appRef: app, channel });
  }

  /**
   * Returns the states that this node holds, by channel id, for the poll that finds missed announcements.
   */
  orders(): Map<string, ServingOrder> {
    const orders = new Map<string, ServingOrder>();
    for (const [channelId, slot] of this.slots.entries()) {
      if (slot.catalog !== undefined) orders.set(channelId, slot.catalog.snapshot);
    }
    return orders;
  }

  /** Number of loaded channels. */
  get size(): number {
    return this.slots.size;
  }

  /**
   * Updates an announced channel if it is loaded, takes note of a release that was offered, and makes the
   * channel's name known.
   */
  hear(announcement: Announcement): void {
    this.dependencies.known.hear(announcement);
    const { channelId, offeredReleaseId } = announcement;
    if (offeredReleaseId !== undefined) this.noteOffered(channelId, new Set([offeredReleaseId]));
    if (!this.slots.has(channelId)) {
      // It may be loading now, with the state from before the change.
      const before = this.heard.get(channelId);
      if (before === undefined || compareServing(announcement, before) > 0) {
        this.heard.set(channelId, orderOf(announcement));
      }
      return;
    }
    this.chase(channelId, announcement).catch((error: unknown) => {
      // The poll will try again.
      this.dependencies.log.warn({ err: error, channel: channelId }, 'refresh failed');
    });
  }

  /**
   * Updates a loaded channel to at least this state. Rejects with `Unavailable` when no store has it; does
   * nothing when the channel is not loaded.
   */
  async chase(channelId: string, order: ServingOrder): Promise<void> {
    for (;;) {
      if (this.isAt(channelId, order)) return;
      const running = this.chases.get(channelId);
      if (running === undefined) break;
      // One load per channel runs at a time; it may have been for an older state, so check again
      // afterwards.
      await running.done;
      if (compareServing(running.wanted, order) >= 0) return;
    }
    const done = this.loadAtLeast(channelId, order).finally(() => this.chases.delete(channelId));
    this.chases.set(channelId, { wanted: order, done });
    await done;
  }

  /**
   * Reads a channel from the ledger, serves it from now on, and returns the snapshot for the other nodes. The
   * snapshot contains everything that was committed before the call. One read per channel runs at a time;
   * callers that arrive during a read share the next one.
   */
  reload(app: string, channel: string): Promise<ServingSnapshot | undefined> {
    const name = channelNameOf(app, channel);
    const next = this.nextReads.get(name) ?? this.readAfterPresent(name, app, channel);
    this.nextReads.set(name, next);
    return next;
  }

  private async readAfterPresent(
    name: string,
    app: string,
    channel: string,
  ): Promise<ServingSnapshot | undefined> {
    await this.reading.get(name);
    this.nextReads.delete(name);
    const read = this.read(app, channel);
    const over = read.then(
      () => undefined,
      () => undefined,
    );
    this.reading.set(name, over);
    try {
      return await read;
    } finally {
      if (this.reading.get(name) === over) this.reading.delete(name);
    }
  }

  private async read(app: string, channel: string): Promise<ServingSnapshot | undefined> {
    const known = this.peek(app, channel)?.catalog?.snapshot;
    const snapshot = await this.dependencies.ledger.readSnapshot(app, channel, known);
    if (typeof snapshot === 'string') return undefined;
    this.dependencies.metrics.refreshes.add('ledger');
    await this.install(snapshot);
    this.dependencies.known.add(snapshot);
    return snapshot;
  }

  /**
   * Marks releases of a loaded channel as offered, also on disk: without that, a node that starts without the
   * ledger would hold them back. Returns the snapshot with the new marks, or undefined when none is new.
   */
  noteOffered(channelId: string, releaseIds: ReadonlySet<string>): ServingSnapshot | undefined {
    const present = this.slots.peek(channelId)?.catalog;
    let isNew = false;
    for (const release of present?.byCanonical.values() ?? []) {
      if (release.offered || !releaseIds.has(release.source.id)) continue;
      release.offered = true;
      isNew = true;
    }
    if (present === undefined || !isNew) return undefined;
    const snapshot = snapshotWithOffers(present);
    this.dependencies.lastGood.keep(snapshot);
    return snapshot;
  }

  /** Serves a state of a loaded channel that another node shared, if it is a newer one. */
  async adoptShared(shared: ServingSnapshot): Promise<void> {
    if (!this.isAt(shared.channelId, shared)) await this.adopt(shared, 'engine');
  }

  private isAt(channelId: string, order: ServingOrder): boolean {
    const catalog = this.slots.peek(channelId)?.catalog;
    return catalog === undefined || compareServing(catalog.snapshot, order) >= 0;
  }

  private async loadAtLeast(channelId: string, order: ServingOrder): Promise<void> {
    const catalog = this.slots.peek(channelId)?.catalog;
    if (catalog === undefined) return;
    const { appRef, channel } = catalog.snapshot;
    const shared = await this.askEngine(appRef, channel);
    const isNew = shared?.channelId === channelId && compareServing(shared, order) >= 0;
    if (isNew && (await this.adopt(shared, 'engine')) !== undefined) return;
    const snapshot = await this.reload(appRef, channel);
    // The engine was behind: the node that should have updated it did not.
    if (snapshot !== undefined) await this.share(snapshot);
  }

  private async load(
    app: string,
    name: { readonly appRef: string; readonly channel: string },
  ): Promise<Outcome<CatalogSlot, NoCatalog>> {
    const slot = await this.cold.load(name);
    if (!isFailure(slot)) this.names.set(channelNameOf(app, name.channel), slot);
    else if (slot.failure === 'unavailable') {
      this.refusals.set(channelNameOf(app, name.channel), slot);
    }
    return slot;
  }

  /** Applies an announcement that arrived while the channel was loading. */
  private catchUp(channelId: string): void {
    const order = this.heard.get(channelId);
    this.heard.delete(channelId);
    if (order === undefined) return;
    this.chase(channelId, order).catch((error: unknown) => {
      this.dependencies.log.warn({ err: error, channel: channelId }, 'refresh failed');
    });
  }

  /**
   * Serves a snapshot that did not come from the ledger. Returns undefined when it cannot be compiled, for
   * any reason: another version of the service may have written it.
   */
  private async adopt(
    snapshot: ServingSnapshot | undefined,
    source: string,
  ): Promise<CatalogSlot | undefined> {
    if (snapshot === undefined) return undefined;
    try {
      const slot = await this.install(snapshot);
      this.dependencies.metrics.refreshes.add(source);
      return slot;
    } catch (error) {
      this.dependencies.log.warn({ err: error, source }, 'a snapshot could not be used');
      return undefined;
    }
  }

  private async readLedger(app: string, channel: string): Promise<Outcome<CatalogSlot, NoCatalog>> {
    const { ledger, metrics } = this.dependencies;
    const snapshot = await ledger.readSnapshot(app, channel);
    if (snapshot === 'unknown-app') return fail('unknownApp');
    if (snapshot === 'unknown-channel') return fail('unknownChannel');
    metrics.refreshes.add('ledger');
    const slot = await this.install(snapshot);
    this.catchUp(snapshot.channelId);
    return slot;
  }

  private async readElsewhere(app: string, channel: string): Promise<CatalogSlot | undefined> {
    const [kept, shared] = await Promise.all([
      this.dependencies.lastGood.find(app, channel),
      this.askEngine(app, channel),
    ]);
    // Both are installed, because either copy may be the older one; neither replaces a newer one.
    const fromDisk = await this.adopt(kept, 'disk');
    const slot = (await this.adopt(shared, 'engine')) ?? fromDisk;
    const channelId = slot?.catalog?.snapshot.channelId;
    if (channelId !== undefined) this.catchUp(channelId);
    return slot;
  }

  private async askEngine(appRef: string, channel: string): Promise<ServingSnapshot | undefined> {
    const known = this.peek(appRef, channel)?.catalog?.snapshot;
    try {
      return await this.dependencies.engine.getSnapshot(appRef, channel, known);
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      this.dependencies.metrics.faults.add('engine-read');
      return undefined;
    }
  }

  private async share(snapshot: ServingSnapshot): Promise<void> {
    try {
      await this.dependencies.engine.putSnapshot(snapshot);
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      this.dependencies.metrics.faults.add('engine-write');
    }
  }

  /** Serves a snapshot from now on, unless one that is as new already is. */
  private async install(snapshot: ServingSnapshot): Promise<CatalogSlot> {
    const present = this.slots.peek(snapshot.channelId)?.catalog;
    const catalog = isNewer(snapshot, present)
      ? await compileInSlices(snapshot, present)
      : undefined;
    const slot = this.slots.get(snapshot.channelId) ?? new CatalogSlot(this.plans);
    // A newer one may have been installed, or the channel evicted, while this one was compiled.
    if (catalog !== undefined && isNewer(snapshot, slot.catalog)) {
      slot.replace(catalog);
      this.dependencies.lastGood.keep(snapshot);
    }
    this.slots.set(snapshot.channelId, slot);
    this.names.set(channelNameOf(snapshot.appRef, snapshot.channel), slot);
    return slot;
  }
}

function isNewer(snapshot: ServingSnapshot, held: Catalog | undefined): boolean {
  return held === undefined || compareServing(held.snapshot, snapshot) < 0;
}

/** Returns the catalog's snapshot with the offered flags that were set since it was read. */
function snapshotWithOffers({ snapshot, byCanonical }: Catalog): ServingSnapshot {
  const offered = new Set<string>();
  for (const release of byCanonical.values()) {
    if (release.offered) offered.add(release.source.id);
  }
  const releases = snapshot.releases.map((release) =>
    release.offered || !offered.has(release.id) ? release : { ...release, offered: true },
  );
  return { ...snapshot, releases };
}

function channelNameOf(app: string, channel: string): string {
  return `${app}/${channel}`;
}
