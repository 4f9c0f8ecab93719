// First offers that nodes tell each other of. A node that has recorded one puts the mark into the engine's
// copy of the channel and announces it. A node that the ledger does not answer looks into that copy:
// otherwise one device would be offered a release by the node that recorded its first offer, and an older
// release by all others, for as long as the ledger is away.

import { LRUCache } from 'lru-cache';
import { Unavailable } from '../contract/unavailable.ts';
import type { Catalog, CompiledRelease } from '../domain/decision/catalog.ts';
import type { ServingSnapshot } from '../domain/decision/serving-snapshot.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { RareLog } from '../observe/rare-log.ts';
import type { Engine } from '../store/engine.ts';
import type { Catalogs } from './catalogs.ts';

const CHANNELS_MAX = 10_000;
/** Time for which a copy is not read again; what changes meanwhile is announced. */
const REREAD_AFTER_MS = 5000;
const RETRY_AFTER_FAULT_MS = 1000;

type Look = { readonly done: Promise<void>; until: number };

/**
 * Outcome of recording an offer. `stale`: the channel has changed since this catalog, so decide again from a
 * newer one. `unavailable`: it is not known to be recorded, so the release must not be offered.
 */
export type FirstOfferOutcome = 'recorded' | 'stale' | 'unavailable';

export type SharedOffersDependencies = {
  readonly engine: Pick<Engine, 'getSnapshot' | 'putSnapshot' | 'announce'>;
  readonly catalogs: Pick<Catalogs, 'peek' | 'noteOffered' | 'adoptShared'>;
  readonly metrics: Metrics;
  readonly log: RareLog;
  /** Milliseconds that never go back; default: the process's monotonic clock. */
  readonly now?: (() => number) | undefined;
};

export class SharedOffers {
  private readonly dependencies: SharedOffersDependencies;
  private readonly now: () => number;
  /** Latest look at each channel, by its id. */
  private readonly looks = new LRUCache<string, Look>({ max: CHANNELS_MAX });

  constructor(dependencies: SharedOffersDependencies) {
    this.dependencies = dependencies;
    this.now = dependencies.now ?? (() => performance.now());
  }

  /**
   * Takes note of a first offer that this node has recorded in the ledger: in this catalog and the one served
   * now, and for the other nodes, for which nobody waits.
   */
  tell(catalog: Catalog, release: CompiledRelease): void {
    const { channelId } = catalog.snapshot;
    const { id } = release.source;
    const { catalogs } = this.dependencies;
    const snapshot = catalogs.noteOffered(channelId, catalog.snapshot, new Set([id]));
    release.offered = true;
    if (snapshot === undefined) return;
    this.share(snapshot, id).catch((error: unknown) => {
      this.dependencies.log.warn({ err: error, channel: channelId }, 'sharing an offer failed');
    });
  }

  /**
   * Finds out whether another node has recorded the release's first offer. `stale`: a newer catalog than this
   * one is served now. Does not reject when the engine is unavailable.
   */
  async find(catalog: Catalog, release: CompiledRelease): Promise<FirstOfferOutcome> {
    const { channelId, appRef, channel } = catalog.snapshot;
    const latest = this.looks.get(channelId);
    const look = latest !== undefined && this.now() < latest.until ? latest : this.look(catalog);
    await look.done;
    if (release.offered) return 'recorded';
    const present = this.dependencies.catalogs.peek(appRef, channel)?.catalog;
    return present === undefined || present === catalog ? 'unavailable' : 'stale';
  }

  /** Begins a look, which all callers share until it may be repeated. */
  private look({ snapshot }: Catalog): Look {
    const until = Number.POSITIVE_INFINITY;
    const look: Look = { done: this.read(snapshot, (ms) => (look.until = this.now() + ms)), until };
    this.looks.set(snapshot.channelId, look);
    return look;
  }

  /** Reads the engine's copy; `mayRepeatAfter` is told for how long it need not be read again. */
  private async read(known: ServingSnapshot, mayRepeatAfter: (ms: number) => void): Promise<void> {
    const { channelId, appRef, channel } = known;
    try {
      const shared = await this.dependencies.engine.getSnapshot(appRef, channel, known);
      mayRepeatAfter(REREAD_AFTER_MS);
      if (shared?.channelId === channelId) await this.learn(shared);
    } catch (error) {
      mayRepeatAfter(RETRY_AFTER_FAULT_MS);
      if (!(error instanceof Unavailable)) throw error;
      this.dependencies.metrics.faults.add('engine-read');
    }
  }

  private async learn(shared: ServingSnapshot): Promise<void> {
    const { catalogs } = this.dependencies;
    await catalogs.adoptShared(shared);
    const offered = shared.releases.filter((release) => release.offered);
    const ids = new Set(offered.map(({ id }) => id));
    catalogs.noteOffered(shared.channelId, shared, ids);
  }

  /** Shares an offer; a node that hears of it and then reads the copy finds the mark in it. */
  private async share(snapshot: ServingSnapshot, offeredReleaseId: string): Promise<void> {
    const { engine } = this.dependencies;
    const { appRef, channel, channelId, epoch, revision } = snapshot;
    await this.survive(engine.putSnapshot(snapshot));
    const state = { appRef, channel, channelId, epoch, revision };
    await this.survive(engine.announce({ ...state, offeredReleaseId }));
  }

  private async survive(write: Promise<unknown>): Promise<void> {
    try {
      await write;
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      this.dependencies.metrics.faults.add('engine-write');
    }
  }
}
