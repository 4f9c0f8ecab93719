// The catalogs that this node serves: found by name, loaded on the first request, replaced only by newer
// states. When the ledger went back, `LedgerRecovery` makes its state the newest by raising the epoch.
//
// A loaded channel that changed is read from the engine if that has the announced revision, else from the
// ledger: so a publish costs a thousand nodes one read of the ledger, and a lost message only costs time.

import { LRUCache } from 'lru-cache';
import { type Failure, fail, failUntil, isFailure, type Outcome } from '../contract/failure.ts';
import { isRef } from '../contract/ref.ts';
import { type Catalog, markOffered } from '../domain/decision/catalog.ts';
import {
  compareServing,
  orderOf,
  type ServingOrder,
  type ServingSnapshot,
} from '../domain/decision/serving-snapshot.ts';
import { ConcurrencyLimit } from '../flow/concurrency-limit.ts';
import { SharedCall } from '../flow/shared-call.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { RareLog } from '../observe/rare-log.ts';
import type { DiskSnapshots } from '../store/disk-snapshots.ts';
import type { Announcement } from '../store/engine.ts';
import type { ServingLedger } from '../store/ledger.ts';
import type { KnownState } from '../store/ledger-terms.ts';
import { CatalogSlot, PlanBudget } from './catalog-slot.ts';
import type { ChannelDirectory } from './channel-directory.ts';
import { ColdLoads, compileInSlices, type SharedSnapshots } from './cold-loads.ts';
import { CopyComparison, type LedgerRecovery, type RememberedChannels } from './ledger-recovery.ts';

type CatalogDependencies = {
  readonly ledger: ServingLedger;
  readonly shared: SharedSnapshots;
  readonly diskSnapshots: DiskSnapshots;
  readonly known: ChannelDirectory;
  readonly recovery: LedgerRecovery;
  /** Remembers the loaded channels. */
  readonly memory: Pick<RememberedChannels, 'note'>;
  readonly log: RareLog;
  readonly metrics: Metrics;
};

const CHANNELS_MAX = 10_000;
const NAMES_MAX = 20_000;
const REFUSALS_MAX = 20_000;
/** Milliseconds for which "unavailable" is answered without asking again. */
const REFUSAL_TTL_MS = 500;
const COLD_RETRY_MS = 1000;
/**
 * Bounds for look-ups of names that a cut-off list of names may lack: running ones, waiting ones, and the
 * maximum wait in milliseconds. Publishers need the ledger's connections.
 */
const UNLISTED_RUNNING_MAX = 2;
const UNLISTED_WAITING_MAX = 200;
const UNLISTED_WAIT_MS_MAX = 1000;

export class Catalogs {
  private readonly plans = new PlanBudget();
  private readonly slots = new LRUCache<string, CatalogSlot>({
    max: CHANNELS_MAX,
    dispose: (slot, channelId) => {
      // Callers may still hold the slot.
      slot.replace(undefined);
      this.comparison.delete(channelId);
    },
  });
  private readonly names = new LRUCache<string, CatalogSlot>({ max: NAMES_MAX });
  private readonly refusals = new LRUCache<string, Failure>({
    max: REFUSALS_MAX,
    ttl: REFUSAL_TTL_MS,
  });
  private readonly cold: ColdLoads;
  private readonly unlistedGate = new ConcurrencyLimit(
    UNLISTED_RUNNING_MAX,
    UNLISTED_WAITING_MAX,
    UNLISTED_WAIT_MS_MAX,
  );
  /** Reads of the ledger by channel name. */
  private readonly reads = new LRUCache<string, SharedCall<ServingSnapshot | undefined>>({
    max: NAMES_MAX,
  });
  private readonly comparison: CopyComparison;
  private readonly announced: AnnouncedStates;

  constructor(private readonly dependencies: CatalogDependencies) {
    this.cold = new ColdLoads(
      {
        ledger: ({ appRef, channel }) => this.readLedger(appRef, channel),
        elsewhere: ({ appRef, channel }) => this.readElsewhere(appRef, channel),
      },
      dependencies.metrics,
      dependencies.log,
    );
    this.announced = new AnnouncedStates({
      served: (channelId) => this.slots.peek(channelId)?.catalog?.snapshot,
      load: (channelId, order) => this.loadAtLeast(channelId, order),
      log: dependencies.log,
    });
    this.comparison = new CopyComparison({
      ...dependencies,
      held: (channelId) => snapshotIn(this.slots.peek(channelId)),
      settled: (snapshot, isNew) => this.settled(snapshot, isNew),
    });
  }

  /** Returns the slot of a loaded channel without waiting; `app` is a ref or an id. */
  peek(app: string, channel: string): CatalogSlot | undefined {
    const slot = this.names.get(channelNameOf(app, channel));
    return slot?.catalog === undefined ? undefined : slot;
  }

  /** Returns the refusal of a channel if it is known without waiting. */
  refused(app: string, channel: string): Failure | undefined {
    const refusal = this.refusals.get(channelNameOf(app, channel));
    if (refusal !== undefined) return refusal;
    const { known } = this.dependencies;
    const found = known.find(app, channel);
    return isFailure(found) && !known.mayBeUnlisted ? found : undefined;
  }

  /**
   * Returns the slot of a channel, loaded if necessary. Refuses a name that the list of channels lacks,
   * without reading a store; if the list is cut off, tries to load the channel.
   */
  async find(app: string, channel: string): Promise<Outcome<CatalogSlot>> {
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
   * Returns the slot like `find`, for an authorized caller: asks the ledger for a name that this node does
   * not know, because the caller may know of the channel before this node does.
   */
  async findForCaller(app: string, channel: string): Promise<Outcome<CatalogSlot>> {
    if (!isRef(app)) return fail('unknownApp');
    if (!isRef(channel)) return fail('unknownChannel');
    const loaded = this.peek(app, channel) ?? this.refusals.get(channelNameOf(app, channel));
    if (loaded !== undefined) return loaded;
    const name = this.dependencies.known.find(app, channel);
    const isKnown = name !== undefined && !isFailure(name);
    return this.load(app, isKnown ? name : { appRef: app, channel });
  }

  /** Returns the states that this node holds, by channel id, for the poll. */
  held(): Map<string, ServingSnapshot> {
    const held = new Map<string, ServingSnapshot>();
    for (const [channelId, slot] of this.slots.entries()) {
      if (slot.catalog !== undefined) held.set(channelId, slot.catalog.snapshot);
    }
    return held;
  }

  /** Number of loaded channels. */
  get size(): number {
    return this.slots.size;
  }

  /**
   * Updates an announced channel if it is loaded, marks an offered release and learns the channel's name.
   * Resolves once the state is served, with whether it was new to this process.
   */
  hear(announcement: Announcement): Promise<boolean> {
    this.dependencies.known.hear(announcement);
    const { channelId, offeredReleaseId } = announcement;
    const offered = offeredReleaseId === undefined ? [] : [offeredReleaseId];
    this.noteOffered(channelId, announcement, new Set(offered));
    return this.announced.hear(announcement);
  }

  /**
   * Updates a loaded channel to at least this state; ignores a channel that is not loaded. Rejects with
   * `Unavailable` if no store has the state.
   */
  catchUp(channelId: string, order: ServingOrder): Promise<void> {
    return this.announced.catchUp(channelId, order);
  }

  /**
   * Reads a channel from the ledger, serves it and returns the snapshot for the other nodes. The snapshot
   * contains all that was committed before the call. One read per channel runs at a time; callers that arrive
   * during a read share the next one.
   */
  reload(app: string, channel: string): Promise<ServingSnapshot | undefined> {
    const name = channelNameOf(app, channel);
    const known = this.reads.get(name);
    const read = known ?? new SharedCall(() => this.read(app, channel, false));
    if (known === undefined) this.reads.set(name, read);
    return read.ask();
  }

  /** Reads a loaded channel from the ledger again, and writes it to the engine. */
  async refresh(channelId: string): Promise<void> {
    const held = this.slots.peek(channelId)?.catalog?.snapshot;
    const snapshot = held && (await this.reload(held.appRef, held.channel));
    if (snapshot !== undefined) await this.share(snapshot);
  }

  /** Returns what is known of a channel outside the ledger, as input for a change of the channel. */
  knownState(app: string, channel: string): Promise<KnownState | undefined> {
    return this.dependencies.recovery.knownState(app, channel, snapshotIn(this.peek(app, channel)));
  }

  /** Compares a channel in the ledger with all copies, and recovers the ledger if it is behind one. */
  async recover(app: string, channel: string): Promise<void> {
    await this.read(app, channel, true);
  }

  /** Compares a loaded channel with the copies elsewhere, because one of them seems newer. */
  doubt(channelId: string): void {
    if (!this.slots.has(channelId)) return;
    this.comparison.add(channelId);
    void this.comparison.begin(channelId);
  }

  /** Repeats the comparisons that failed. */
  compareRest(): Promise<void> {
    return this.comparison.retry();
  }

  /** Stops serving channels that the ledger lacks; returns their last known states. */
  drop(channelIds: readonly string[]): readonly ServingSnapshot[] {
    return channelIds.flatMap((channelId) => {
      const snapshot = this.slots.peek(channelId)?.catalog?.snapshot;
      this.slots.delete(channelId);
      return snapshot === undefined ? [] : [snapshot];
    });
  }

  private async read(
    app: string,
    channel: string,
    isThorough: boolean,
  ): Promise<ServingSnapshot | undefined> {
    const { recovery, metrics, known } = this.dependencies;
    const held = snapshotIn(this.peek(app, channel));
    const snapshot = await recovery.read(app, channel, held, isThorough);
    if (typeof snapshot === 'string') return undefined;
    metrics.refreshes.add('ledger');
    await this.install(snapshot);
    known.add(snapshot);
    return snapshot;
  }

  private async settled(snapshot: ServingSnapshot, isNew: boolean): Promise<void> {
    const { catalog } = await this.install(snapshot);
    if (catalog !== undefined) this.dependencies.diskSnapshots.keep(catalog.marked);
    if (isNew) await this.share(snapshot);
  }

  /**
   * Marks releases of a loaded channel as offered, also on disk: without the mark, a node that starts without
   * the ledger would not offer them. `order` is the state in which they were offered. Returns the snapshot
   * with the new marks, or undefined if none is new. The ledger may have lost marks of an earlier epoch:
   * those are written back instead.
   */
  noteOffered(
    channelId: string,
    order: ServingOrder,
    releaseIds: ReadonlySet<string>,
  ): ServingSnapshot | undefined {
    const present = this.slots.peek(channelId)?.catalog;
    if (present !== undefined && order.epoch < present.snapshot.epoch) {
      this.dependencies.recovery.restoreLater(present.snapshot, [...releaseIds]);
      return undefined;
    }
    // In an older state, a release may have a wider audience than it may ever be offered to.
    if (present === undefined || compareServing(present.snapshot, order) < 0) return undefined;
    if (!markOffered(present, releaseIds)) return undefined;
    if (!this.comparison.isDue(channelId)) this.dependencies.diskSnapshots.keep(present.marked);
    return present.marked;
  }

  /** Serves the state that another node shared of a loaded channel, if it is newer. */
  async adoptShared(shared: ServingSnapshot): Promise<void> {
    const held = this.slots.peek(shared.channelId)?.catalog;
    if (held !== undefined && isNewer(shared, held)) await this.adopt(shared, 'engine');
  }

  private async loadAtLeast(channelId: string, order: ServingOrder): Promise<void> {
    const catalog = this.slots.peek(channelId)?.catalog;
    if (catalog === undefined) return;
    const { appRef, channel } = catalog.snapshot;
    const shared = await this.dependencies.shared.find(appRef, channel, catalog.snapshot);
    const isNew = shared?.channelId === channelId && compareServing(shared, order) >= 0;
    if (isNew && (await this.adopt(shared, 'engine')) !== undefined) return;
    // The engine is behind: the node that should have updated it did not.
    await this.refresh(channelId);
  }

  private async load(
    app: string,
    name: { readonly appRef: string; readonly channel: string },
  ): Promise<Outcome<CatalogSlot>> {
    const slot = await this.cold.load(name);
    if (!isFailure(slot)) this.names.set(channelNameOf(app, name.channel), slot);
    else if (slot.failure === 'unavailable') {
      this.refusals.set(channelNameOf(app, name.channel), slot);
    }
    return slot;
  }

  /**
   * Serves a snapshot that did not come from the ledger. Returns undefined if it cannot be compiled for any
   * reason: another version of Sluice may have written it.
   */
  private async adopt(
    snapshot: ServingSnapshot | undefined,
    source: 'engine' | 'disk',
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

  private async readLedger(app: string, channel: string): Promise<Outcome<CatalogSlot>> {
    const { ledger, metrics } = this.dependencies;
    const snapshot = await ledger.readSnapshot(app, channel);
    if (snapshot === 'unknown-app') return fail('unknownApp');
    if (snapshot === 'unknown-channel') return fail('unknownChannel');
    metrics.refreshes.add('ledger');
    // The answer does not wait for the comparison with the copies elsewhere.
    if (!this.slots.has(snapshot.channelId)) this.comparison.add(snapshot.channelId);
    const slot = await this.install(snapshot);
    void this.comparison.begin(snapshot.channelId);
    this.announced.applyHeard(snapshot.channelId);
    return slot;
  }

  private async readElsewhere(app: string, channel: string): Promise<CatalogSlot | undefined> {
    const [kept, shared] = await Promise.all([
      this.dependencies.diskSnapshots.find(app, channel),
      this.dependencies.shared.find(app, channel),
    ]);
    // Install both, because either copy may be the older one; neither replaces a newer one.
    const fromDisk = await this.adopt(kept, 'disk');
    const slot = (await this.adopt(shared, 'engine')) ?? fromDisk;
    const channelId = slot?.catalog?.snapshot.channelId;
    if (channelId !== undefined) this.announced.applyHeard(channelId);
    return slot;
  }

  private async share(snapshot: ServingSnapshot): Promise<void> {
    const kept = await this.dependencies.shared.put(snapshot);
    if (kept !== undefined && compareServing(kept, snapshot) > 0) this.doubt(snapshot.channelId);
  }

  /** Serves a snapshot from now on, unless the present one is at least as new. */
  private async install(read: ServingSnapshot): Promise<CatalogSlot> {
    const present = this.slots.peek(read.channelId)?.catalog;
    const earlier = markedBefore(read, present);
    const snapshot = earlier ? await this.dependencies.recovery.carryOffers(read, earlier) : read;
    const catalog = isNewer(read, present) ? await compileInSlices(snapshot, present) : undefined;
    const slot =
      this.slots.get(snapshot.channelId) ??
      new CatalogSlot(this.plans, this.dependencies.metrics.checks);
    // Carry over marks made meanwhile as well.
    if (markedBefore(read, slot.catalog) !== earlier) return this.install(read);
    // During the compilation a newer catalog may have been installed, or the channel evicted.
    if (catalog !== undefined && isNewer(snapshot, slot.catalog)) {
      slot.replace(catalog);
      if (!this.comparison.isDue(snapshot.channelId))
        this.dependencies.diskSnapshots.keep(snapshot);
    }
    this.dependencies.memory.note(snapshot);
    this.slots.set(snapshot.channelId, slot);
    this.names.set(channelNameOf(snapshot.appRef, snapshot.channel), slot);
    return slot;
  }
}

/** Returns the served snapshot with the marks of offers since it was read. */
function snapshotIn(slot: CatalogSlot | undefined): ServingSnapshot | undefined {
  return slot?.catalog?.marked;
}

/** Returns the held state with its marks if its epoch is earlier than the snapshot's. */
function markedBefore({ epoch }: ServingSnapshot, held: Catalog | undefined) {
  return held !== undefined && held.snapshot.epoch < epoch ? held.marked : undefined;
}

function isNewer(snapshot: ServingSnapshot, held: Catalog | undefined): boolean {
  return held === undefined || compareServing(held.snapshot, snapshot) < 0;
}

function channelNameOf(app: string, channel: string): string {
  return `${app}/${channel}`;
}

// States that this node must reach: announced, found by the poll, or seen in the ledger. One load runs per
// channel at a time. An announcement during a channel's first load is kept until the channel is loaded.

const HEARD_MAX = 10_000;

type AnnouncedStatesDependencies = {
  /** Returns the served state of a channel; undefined if it is not loaded. */
  readonly served: (channelId: string) => ServingOrder | undefined;
  /** Loads at least this state; rejects with `Unavailable` if no store has it. */
  readonly load: (channelId: string, order: ServingOrder) => Promise<void>;
  readonly log: RareLog;
};

class AnnouncedStates {
  private readonly catchUps = new Map<string, { wanted: ServingOrder; done: Promise<void> }>();
  /** Latest announced state of channels that were not loaded then. */
  private readonly heard = new LRUCache<string, ServingOrder>({ max: HEARD_MAX });

  constructor(private readonly dependencies: AnnouncedStatesDependencies) {}

  /** Updates an announced channel if it is loaded; resolves once it is served, with whether it was new. */
  async hear(announcement: Announcement): Promise<boolean> {
    const { channelId } = announcement;
    if (this.dependencies.served(channelId) !== undefined) {
      return this.begin(channelId, announcement);
    }
    // The channel may be loading now, with the state before the change.
    const before = this.heard.get(channelId);
    if (before === undefined || compareServing(announcement, before) > 0) {
      this.heard.set(channelId, orderOf(announcement));
    }
    return false;
  }

  /** Applies an announcement that arrived while the channel was loading. */
  applyHeard(channelId: string): void {
    const order = this.heard.get(channelId);
    this.heard.delete(channelId);
    if (order !== undefined) void this.begin(channelId, order);
  }

  /**
   * Updates a loaded channel to at least this state; ignores a channel that is not loaded. Rejects with
   * `Unavailable` if no store has the state.
   */
  async catchUp(channelId: string, order: ServingOrder): Promise<void> {
    for (;;) {
      const served = this.dependencies.served(channelId);
      if (served === undefined || compareServing(served, order) >= 0) return;
      const running = this.catchUps.get(channelId);
      if (running === undefined) break;
      // That load may be for an older state, so check again afterwards.
      await running.done;
      if (compareServing(running.wanted, order) >= 0) return;
    }
    const load = this.dependencies.load(channelId, order);
    const done = load.finally(() => this.catchUps.delete(channelId));
    this.catchUps.set(channelId, { wanted: order, done });
    await done;
  }

  private async begin(channelId: string, order: ServingOrder): Promise<boolean> {
    const served = this.dependencies.served(channelId);
    if (served !== undefined && compareServing(served, order) >= 0) return false;
    try {
      await this.catchUp(channelId, order);
      return true;
    } catch (error) {
      // The poll will try again.
      this.dependencies.log.warn({ err: error, channel: channelId }, 'refresh failed');
      return false;
    }
  }
}
