// Barrier before the first manifest of a release: the mark "offered" must be durable before it is sent, and
// ordered against serving control. The ledger's guarded call does both; afterwards the mark is in the catalog
// and costs nothing.
//
// Parallel first checks share one call. After 1.5 s a check continues without an answer, and no call is made
// for a second. A later answer still counts, so that a distant ledger is asked only once.

import { LRUCache } from 'lru-cache';
import { LockedTooLong, Unavailable, whenAway } from '../contract/store-fault.ts';
import type { Catalog, CompiledRelease } from '../domain/decision/catalog.ts';
import type { ServingSnapshot } from '../domain/decision/serving-snapshot.ts';
import { ConcurrencyLimit } from '../flow/concurrency-limit.ts';
import { withinTime } from '../flow/within-time.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { RareLog } from '../observe/rare-log.ts';
import type { NewSpan, OpenSpan, Tracing } from '../observe/tracing.ts';
import type { Engine } from '../store/engine.ts';
import type { Ledger } from '../store/ledger.ts';
import type { Catalogs } from './catalogs.ts';

const WAIT_MAX_MS = 1500;
const RETRY_AFTER_FAULT_MS = 1000;
/** Default maximum of concurrent calls: half of the ledger's default connections. */
const CALLS_RUNNING_MAX = 5;
const CALLS_WAITING_MAX = 2000;
const AVOIDED_MAX = 10_000;
const EVERY_CHANNEL = '*';
const FAILED_MAX = 1000;
/** Milliseconds for which a failure excludes the release, unless a later attempt succeeds. */
const FAILED_MS = 10_000;

type FirstOfferDependencies = {
  readonly ledger: Pick<Ledger, 'recordFirstOffer'>;
  /** Shared first offers: read if the ledger does not answer, and updated with this node's. */
  readonly shared: Pick<SharedOffers, 'find' | 'tell'>;
  readonly metrics: Metrics;
  readonly log: RareLog;
  /** Traces of first offers, if tracing is on. */
  readonly tracing?: Tracing | undefined;
  /** Maximum number of concurrent calls; 5 by default. */
  readonly callsMax?: number | undefined;
  /** Milliseconds that never go back; default: the process's monotonic clock. */
  readonly now?: (() => number) | undefined;
};

export class FirstOffers {
  private readonly now: () => number;
  private readonly gate: ConcurrencyLimit;
  /**
   * Outcomes of unfinished calls by release and state. After the maximum wait the outcome is `unavailable`,
   * though the call goes on. Bounded by the number of releases in loaded catalogs.
   */
  private readonly attempts = new Map<string, Promise<FirstOfferOutcome>>();
  /** Times until which the ledger is not asked, by channel, with `EVERY_CHANNEL` for all; monotonic. */
  private readonly avoidUntil = new Map<string, number>();

  /** Times of the latest failures by release. */
  private readonly failedAt = new LRUCache<string, number>({ max: FAILED_MAX });

  constructor(private readonly dependencies: FirstOfferDependencies) {
    const { callsMax = CALLS_RUNNING_MAX } = dependencies;
    this.gate = new ConcurrencyLimit(callsMax, CALLS_WAITING_MAX, WAIT_MAX_MS);
    this.now = dependencies.now ?? (() => performance.now());
  }

  /**
   * Records that a release of this catalog is about to be offered, or finds that another node recorded it.
   * Does not reject if a store is unavailable.
   */
  async record(catalog: Catalog, release: CompiledRelease): Promise<FirstOfferOutcome> {
    if (release.offered) return 'recorded';
    const outcome = await this.askLedger(catalog, release);
    if (outcome !== 'unavailable') return outcome;
    const found = await this.dependencies.shared.find(catalog, release);
    if (found === 'recorded') this.dependencies.metrics.firstOffers.add('shared');
    return found;
  }

  /** Returns the ids of the releases whose first offer cannot be recorded at present. */
  excludedIn({ published }: Catalog): ReadonlySet<string> {
    const since = this.now() - FAILED_MS;
    const excluded = published.filter(
      ({ offered, source }) => !offered && (this.failedAt.get(source.id) ?? since) > since,
    );
    return new Set(excluded.map(({ source }) => source.id));
  }

  private askLedger(catalog: Catalog, release: CompiledRelease): Promise<FirstOfferOutcome> {
    const { channelId, epoch, revision } = catalog.snapshot;
    const key = `${release.source.id}@${epoch}/${revision}`;
    const running = this.attempts.get(key);
    if (running !== undefined) return running;
    if (this.isAvoided(channelId)) return Promise.resolve('unavailable');
    const span = this.dependencies.tracing?.begin(spanOf(catalog, release));
    const pass = () =>
      this.gate.pass(() =>
        this.dependencies.ledger.recordFirstOffer(channelId, release.source.id, {
          epoch,
          revision,
        }),
      );
    const call = span === undefined ? pass() : span.run(pass);
    const attempt = this.settle(call, catalog, release);
    if (span !== undefined) endWith(span, attempt);
    this.attempts.set(key, attempt);
    const forget = () => this.attempts.delete(key);
    call.then(forget, forget);
    return attempt;
  }

  /** Waits for the answer of a call, for at most 1.5 s. */
  private async settle(
    call: Promise<boolean>,
    catalog: Catalog,
    release: CompiledRelease,
  ): Promise<FirstOfferOutcome> {
    try {
      const isRecorded = await withinTime(call, WAIT_MAX_MS);
      if (isRecorded === undefined) {
        void this.awaitLate(call, catalog, release);
        return this.failed(catalog, release, `no answer within ${WAIT_MAX_MS} ms`);
      }
      if (isRecorded) this.dependencies.shared.tell(catalog, release);
      const outcome = isRecorded ? 'recorded' : 'stale';
      this.dependencies.metrics.firstOffers.add(outcome);
      return outcome;
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      return this.failed(catalog, release, error);
    }
  }

  /** Handles an answer that no check waits for any more. */
  private async awaitLate(
    call: Promise<boolean>,
    catalog: Catalog,
    release: CompiledRelease,
  ): Promise<void> {
    try {
      if (!(await call)) return;
      this.dependencies.shared.tell(catalog, release);
      this.dependencies.metrics.firstOffers.add('late');
    } catch (error) {
      // The next check asks again, and a lasting bug fails that check.
      this.warn(catalog, release, error);
    }
  }

  private failed(catalog: Catalog, release: CompiledRelease, reason: unknown): 'unavailable' {
    // A lock or a slow call may concern this channel alone.
    const isAway = reason instanceof Unavailable && !(reason instanceof LockedTooLong);
    this.avoid(isAway ? EVERY_CHANNEL : catalog.snapshot.channelId);
    this.failedAt.set(release.source.id, this.now());
    this.warn(catalog, release, reason);
    this.dependencies.metrics.firstOffers.add('unavailable');
    return 'unavailable';
  }

  private warn({ snapshot }: Catalog, { source }: CompiledRelease, reason: unknown): void {
    const { appRef, channel } = snapshot;
    const name = { app: appRef, channel, version: source.version };
    const details = reason instanceof Error ? { ...name, err: reason } : { ...name, reason };
    this.dependencies.log.warnAbout(source.id, details, 'first offer could not be recorded');
  }

  private avoid(channel: string): void {
    // Few entries exist at a time; the bound covers a ledger that is slow for every channel.
    if (this.avoidUntil.size >= AVOIDED_MAX) this.avoidUntil.clear();
    this.avoidUntil.set(channel, this.now() + RETRY_AFTER_FAULT_MS);
  }

  private isAvoided(channelId: string): boolean {
    if (this.avoidUntil.size === 0) return false;
    const until = Math.max(
      this.avoidUntil.get(channelId) ?? 0,
      this.avoidUntil.get(EVERY_CHANNEL) ?? 0,
    );
    return this.now() < until;
  }
}

/** Returns the span of a first offer, which all waiting checks share. */
function spanOf({ snapshot }: Catalog, { source }: CompiledRelease): NewSpan {
  const { appRef, channel } = snapshot;
  const attributes = {
    'sluice.app': appRef,
    'sluice.channel': channel,
    'sluice.version': source.version,
  };
  return { name: 'first offer', kind: 'internal', attributes };
}

function endWith(span: OpenSpan, attempt: Promise<FirstOfferOutcome>): void {
  attempt.then(
    (outcome) => span.end({ 'sluice.outcome': outcome }),
    (error: Error) => span.end({}, error.name),
  );
}

// First offers that nodes share. A node that recorded one writes the mark into the engine's copy of the
// channel and announces it. A node without an answer of the ledger reads that copy: otherwise one node would
// offer a release, and all others an older one, for as long as the ledger is unavailable.

const CHANNELS_MAX = 10_000;
/** Milliseconds for which a copy is not read again; changes are announced meanwhile. */
const REREAD_AFTER_MS = 5000;
const SHARED_OFFERS_RETRY_AFTER_FAULT_MS = 1000;

type Look = { readonly done: Promise<void>; until: number };

/**
 * Outcome of recording an offer. `stale`: the channel has changed since this catalog, so decide again from a
 * newer one. `unavailable`: it may not be recorded, so the release must not be offered.
 */
type FirstOfferOutcome = 'recorded' | 'stale' | 'unavailable';

type SharedOffersDependencies = {
  readonly engine: Pick<Engine, 'getSnapshot' | 'putSnapshot' | 'announce'>;
  readonly catalogs: Pick<Catalogs, 'peek' | 'noteOffered' | 'adoptShared'>;
  readonly metrics: Metrics;
  readonly log: RareLog;
  /** Milliseconds that never go back; default: the process's monotonic clock. */
  readonly now?: (() => number) | undefined;
};

export class SharedOffers {
  private readonly now: () => number;
  /** Latest look at each channel, by its id. */
  private readonly looks = new LRUCache<string, Look>({ max: CHANNELS_MAX });

  constructor(private readonly dependencies: SharedOffersDependencies) {
    this.now = dependencies.now ?? (() => performance.now());
  }

  /**
   * Marks a first offer that this node recorded in the ledger: in this catalog, in the served one and,
   * without waiting, for the other nodes.
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
   * Finds out whether another node recorded the release's first offer. `stale`: a newer catalog is served
   * now. Does not reject if the engine is unavailable.
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

  /** Reads the engine's copy; calls `mayRepeatAfter` with the time until the next read. */
  private async read(known: ServingSnapshot, mayRepeatAfter: (ms: number) => void): Promise<void> {
    const { channelId, appRef, channel } = known;
    try {
      const shared = await this.dependencies.engine.getSnapshot(appRef, channel, known);
      mayRepeatAfter(REREAD_AFTER_MS);
      if (shared?.channelId === channelId) await this.learn(shared);
    } catch (error) {
      mayRepeatAfter(SHARED_OFFERS_RETRY_AFTER_FAULT_MS);
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

  /** Writes the copy before the announcement, so that a node which then reads the copy finds the mark. */
  private async share(snapshot: ServingSnapshot, offeredReleaseId: string): Promise<void> {
    const { engine } = this.dependencies;
    const { appRef, channel, channelId, epoch, revision } = snapshot;
    await this.survive(engine.putSnapshot(snapshot));
    const state = { appRef, channel, channelId, epoch, revision };
    await this.survive(engine.announce({ ...state, offeredReleaseId }));
  }

  private survive(write: Promise<unknown>): Promise<unknown> {
    return write.catch(whenAway(() => this.dependencies.metrics.faults.add('engine-write')));
  }
}
