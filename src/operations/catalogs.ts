// The catalogs this node serves from: found by name, loaded when first asked for, replaced when a newer
// revision is heard of, and never by an older one.
//
// A cold channel is read from the ledger (fresh), else from the engine, else from this node's disk. A channel
// that moved is read from the engine when that already has the revision heard of, else from the ledger:
// so one publish to a thousand nodes is one read of the ledger, and a lost message costs nothing but time.

import { LRUCache } from 'lru-cache';
import { type Failure, fail, failUntil, isFailure, type Outcome } from '../contract/failure.ts';
import { isRef } from '../contract/ref.ts';
import { type Catalog, type CompiledRelease, compileCatalog } from '../domain/catalog.ts';
import type { ServingSnapshot } from '../domain/serving-snapshot.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { RareLog } from '../observe/rare-log.ts';
import type { Announcement, Engine } from '../ports/engine.ts';
import type { LastGood } from '../ports/last-good.ts';
import type { Ledger } from '../ports/ledger.ts';
import { Unavailable } from '../ports/unavailable.ts';
import { CatalogSlot, PlanBudget } from './catalog-slot.ts';
import { Turnstile } from './turnstile.ts';

export type CatalogDependencies = {
  readonly ledger: Ledger;
  readonly engine: Engine;
  readonly lastGood: LastGood;
  readonly log: RareLog;
  readonly metrics: Metrics;
};

const CHANNELS_MAX = 10_000;
const NAMES_MAX = 20_000;
const REFUSALS_MAX = 20_000;
/** How long "unknown" or "unavailable" is believed without asking again. */
const REFUSAL_TTL_MS = 500;
/** Far below the ledger's connections: names come from strangers, and publishers need some, too. */
const COLD_LOADS_RUNNING_MAX = 4;
const COLD_LOADS_WAITING_MAX = 2000;
const HEARD_MAX = 10_000;
const COLD_RETRY_MS = 1000;

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
  private readonly refusals = new LRUCache<string, Failure>({
    max: REFUSALS_MAX,
    ttl: REFUSAL_TTL_MS,
  });
  private readonly coldGate = new Turnstile(COLD_LOADS_RUNNING_MAX, COLD_LOADS_WAITING_MAX);
  private readonly coldLoads = new Map<string, Promise<Outcome<CatalogSlot>>>();
  private readonly chases = new Map<string, { wanted: number; done: Promise<void> }>();
  /** By name: the read of the ledger under way, and the one that waits for its end. */
  private readonly reading = new Map<string, Promise<void>>();
  private readonly nextReads = new Map<string, Promise<ServingSnapshot | undefined>>();
  /** The revision last announced of a channel that was not loaded then. */
  private readonly heard = new LRUCache<string, number>({ max: HEARD_MAX });
  /** Counts what may have turned an "unknown" wrong. */
  private generation = 0;

  constructor(dependencies: CatalogDependencies) {
    this.dependencies = dependencies;
  }

  /** The slot of a loaded channel, found without waiting; `app` is a ref or an id. */
  peek(app: string, channel: string): CatalogSlot | undefined {
    const slot = this.names.get(nameOf(app, channel));
    return slot?.catalog === undefined ? undefined : slot;
  }

  /** Why there is no slot, while that is still believed without asking again. */
  refused(app: string, channel: string): Failure | undefined {
    return this.refusals.get(nameOf(app, channel));
  }

  /** The slot of a channel, loaded if need be. 404 when there is none, 503 when it cannot be told. */
  async find(app: string, channel: string): Promise<Outcome<CatalogSlot>> {
    if (!isRef(app)) return fail('unknownApp');
    if (!isRef(channel)) return fail('unknownChannel');
    const name = nameOf(app, channel);
    const loaded = this.peek(app, channel) ?? this.refusals.get(name);
    if (loaded !== undefined) return loaded;
    const running = this.coldLoads.get(name);
    if (running !== undefined) return running;
    const load = this.coldGate
      .pass(() => this.loadCold(app, channel))
      .finally(() => this.coldLoads.delete(name));
    this.coldLoads.set(name, load);
    return load;
  }

  /** What this node holds, by channel id: for the poll that finds what no announcement told. */
  revisions(): Map<string, number> {
    const revisions = new Map<string, number>();
    for (const [channelId, slot] of this.slots.entries()) {
      if (slot.catalog !== undefined) revisions.set(channelId, slot.catalog.snapshot.revision);
    }
    return revisions;
  }

  /** How many channels are loaded. */
  get size(): number {
    return this.slots.size;
  }

  /** Brings the announced channel to its revision if it is loaded; forgets that it was unknown. */
  hear(announcement: Announcement): void {
    this.forgetRefusals();
    if (!this.slots.has(announcement.channelId)) {
      // It may be loading right now, from before the change.
      const { channelId, revision } = announcement;
      this.heard.set(channelId, Math.max(revision, this.heard.get(channelId) ?? 0));
      return;
    }
    this.chase(announcement.channelId, announcement.revision).catch((error: unknown) => {
      // The poll will come back to it.
      this.dependencies.log.warn({ err: error, channel: announcement.channelId }, 'refresh failed');
    });
  }

  /**
   * Brings a loaded channel to at least this revision. Rejects with `Unavailable` when no store could
   * give it; resolves without effect when the channel is not loaded.
   */
  async chase(channelId: string, revision: number): Promise<void> {
    for (;;) {
      if (this.isAt(channelId, revision)) return;
      const running = this.chases.get(channelId);
      if (running === undefined) break;
      // One load per channel at a time; it may have aimed lower, so look again afterwards.
      await running.done;
      if (running.wanted >= revision) return;
    }
    const done = this.loadAtLeast(channelId, revision).finally(() => this.chases.delete(channelId));
    this.chases.set(channelId, { wanted: revision, done });
    await done;
  }

  /**
   * Reads a channel from the ledger and serves it from now on; the snapshot, for the other nodes. It holds
   * whatever was committed before the call. One read per channel at a time: those who call while one
   * runs share the one after it.
   */
  reload(app: string, channel: string): Promise<ServingSnapshot | undefined> {
    const name = nameOf(app, channel);
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
    const snapshot = await this.dependencies.ledger.readSnapshot(app, channel);
    if (typeof snapshot === 'string') return undefined;
    this.dependencies.metrics.refreshes.add('ledger');
    this.install(snapshot);
    return snapshot;
  }

  /**
   * Remembers that the ledger holds a release of this catalog for offered: in the catalog served now, and
   * where a node looks that starts without the ledger. Without it, such a node would hold the release back.
   */
  noteOffered(catalog: Catalog, release: CompiledRelease): void {
    release.offered = true;
    const { channelId } = catalog.snapshot;
    const present = this.slots.peek(channelId)?.catalog;
    const same = present?.byCanonical.get(release.version.canonical);
    if (present === undefined || same === undefined) return;
    same.offered = true;
    const snapshot = snapshotWithOffers(present);
    this.dependencies.lastGood.keep(snapshot);
    this.share(snapshot).catch((error: unknown) => {
      this.dependencies.log.warn({ err: error, channel: channelId }, 'sharing an offer failed');
    });
  }

  private isAt(channelId: string, revision: number): boolean {
    const catalog = this.slots.peek(channelId)?.catalog;
    return catalog === undefined || catalog.snapshot.revision >= revision;
  }

  private async loadAtLeast(channelId: string, revision: number): Promise<void> {
    const catalog = this.slots.peek(channelId)?.catalog;
    if (catalog === undefined) return;
    const { appRef, channel } = catalog.snapshot;
    const shared = await this.askEngine(appRef, channel);
    const isNew = shared?.channelId === channelId && shared.revision >= revision;
    if (isNew && this.adopt(shared, 'engine') !== undefined) return;
    const snapshot = await this.reload(appRef, channel);
    // The engine was behind: whoever should have told it did not live to.
    if (snapshot !== undefined) await this.share(snapshot);
  }

  private async loadCold(app: string, channel: string): Promise<Outcome<CatalogSlot>> {
    const { generation } = this;
    const slot = await this.readCold(app, channel);
    if (isFailure(slot)) {
      // Not if something was created meanwhile: this may be it.
      if (generation === this.generation) this.refusals.set(nameOf(app, channel), slot);
      return slot;
    }
    this.names.set(nameOf(app, channel), slot);
    const channelId = slot.catalog?.snapshot.channelId;
    if (channelId !== undefined) this.catchUp(channelId);
    return slot;
  }

  /** Follows what was announced of a channel while it was loading. */
  private catchUp(channelId: string): void {
    const revision = this.heard.get(channelId);
    this.heard.delete(channelId);
    if (revision === undefined) return;
    this.chase(channelId, revision).catch((error: unknown) => {
      this.dependencies.log.warn({ err: error, channel: channelId }, 'refresh failed');
    });
  }

  /**
   * Serves a snapshot that did not come from the ledger; undefined when it cannot be used, whatever is wrong
   * with it: another version of the service may have left it.
   */
  private adopt(snapshot: ServingSnapshot | undefined, source: string): CatalogSlot | undefined {
    if (snapshot === undefined) return undefined;
    try {
      const slot = this.install(snapshot);
      this.dependencies.metrics.refreshes.add(source);
      return slot;
    } catch (error) {
      this.dependencies.log.warn({ err: error, source }, 'a snapshot could not be used');
      return undefined;
    }
  }

  private forgetRefusals(): void {
    this.generation += 1;
    this.refusals.clear();
  }

  private async readCold(app: string, channel: string): Promise<Outcome<CatalogSlot>> {
    const { ledger, lastGood, metrics, log } = this.dependencies;
    try {
      const snapshot = await ledger.readSnapshot(app, channel);
      if (snapshot === 'unknown-app') return fail('unknownApp');
      if (snapshot === 'unknown-channel') return fail('unknownChannel');
      metrics.refreshes.add('ledger');
      return this.install(snapshot);
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      metrics.faults.add('cold-load');
      log.warn({ err: error }, 'ledger unavailable, looking for the last known state');
    }
    // Both, because either may be the newer one; neither replaces what is newer.
    const kept = this.adopt(await lastGood.find(app, channel), 'disk');
    const shared = this.adopt(await this.askEngine(app, channel), 'engine');
    return shared ?? kept ?? failUntil('unavailable', COLD_RETRY_MS);
  }

  private async askEngine(appRef: string, channel: string): Promise<ServingSnapshot | undefined> {
    try {
      return await this.dependencies.engine.getSnapshot(appRef, channel);
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

  /** Serves a snapshot from now on, unless a newer one already is. */
  private install(snapshot: ServingSnapshot): CatalogSlot {
    const slot = this.slots.get(snapshot.channelId) ?? new CatalogSlot(this.plans);
    const held = slot.catalog?.snapshot.revision ?? -1;
    if (held < snapshot.revision) {
      slot.replace(compileCatalog(snapshot));
      this.dependencies.lastGood.keep(snapshot);
    }
    this.slots.set(snapshot.channelId, slot);
    this.names.set(nameOf(snapshot.appRef, snapshot.channel), slot);
    this.forgetRefusals();
    return slot;
  }
}

/** The catalog's snapshot with what became offered since it was read. */
function snapshotWithOffers({ snapshot, byCanonical }: Catalog): ServingSnapshot {
  const offered = new Set<string>();
  for (const release of byCanonical.values()) {
    if (release.offered) offered.add(release.source.id);
  }
  const releases = snapshot.releases.map((release) => ({
    ...release,
    offered: release.offered || offered.has(release.id),
  }));
  return { ...snapshot, releases };
}

function nameOf(app: string, channel: string): string {
  return `${app}/${channel}`;
}
