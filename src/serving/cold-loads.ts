// Loads of channels that are not loaded: from the ledger, or else from where the last known state lies, which
// is this node's disk and the engine.
//
// A ledger that does not answer must not hold up a channel whose state lies elsewhere. So a load waits less
// than a second for it, and after a ledger that failed or was late the other places come first for a second;
// then one load asks the ledger again. A read of the ledger that is late goes on, and what it reads is served
// once it is there.
//
// Only names of channels that exist get here, so strangers cannot make them queue.

import { type Failure, failUntil, type Outcome } from '../contract/failure.ts';
import { Unavailable } from '../contract/unavailable.ts';
import {
  type Catalog,
  type CompiledRelease,
  catalogOf,
  compileRelease,
} from '../domain/decision/catalog.ts';
import { EditionFinder } from '../domain/decision/edition-finder.ts';
import type { ServingOrder, ServingSnapshot } from '../domain/decision/serving-snapshot.ts';
import { ConcurrencyLimit } from '../flow/concurrency-limit.ts';
import { TimeSlice } from '../flow/time-slice.ts';
import { withinTime } from '../flow/within-time.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { RareLog } from '../observe/rare-log.ts';
import type { Engine, SnapshotHead } from '../store/engine.ts';
import type { CatalogSlot } from './catalog-slot.ts';
import type { NoCatalog } from './channel-directory.ts';

type Loaded = Outcome<CatalogSlot, NoCatalog>;

/** Name of a channel, with the ref of its app. */
type Named = { readonly appRef: string; readonly channel: string };

type ColdSources = {
  /** Reads the channel from the ledger and serves it from then on. */
  readonly ledger: (name: Named) => Promise<Loaded>;
  /** Serves the newest state that the disk and the engine have; undefined when they have none. */
  readonly elsewhere: (name: Named) => Promise<CatalogSlot | undefined>;
};

/**
 * Maximum number of concurrent reads of the ledger, far below its connections, because publishers need
 * connections too. The bound on those that wait is the number of channels that a node holds.
 */
const READS_RUNNING_MAX = 4;
const READS_WAITING_MAX = 10_000;
/** Longest wait for the ledger before the other places are looked at, in milliseconds. */
const PATIENCE_MS = 800;
/** Longest wait for the ledger when it alone has the channel, in milliseconds: that of one statement. */
const WAIT_MS_MAX = 5000;
/** Milliseconds for which the other places come first after the ledger failed or was late. */
const AVOID_MS = 1000;
const RETRY_MS = 1000;

/** Answer of the ledger, empty when it is unavailable. */
type LedgerAnswer = { readonly loaded?: Loaded };

type LedgerRead = {
  readonly hasBegun: () => boolean;
  readonly outcome: Promise<LedgerAnswer>;
};

export class ColdLoads {
  private readonly sources: ColdSources;
  private readonly metrics: Metrics;
  private readonly log: RareLog;
  private readonly now: () => number;
  private readonly gate = new ConcurrencyLimit(READS_RUNNING_MAX, READS_WAITING_MAX);
  private readonly loads = new Map<string, Promise<Loaded>>();
  private readonly reads = new Map<string, LedgerRead>();
  /** What the ledger did last. */
  private ledger: 'answered' | 'late' | 'failed' = 'answered';
  private failedAt = Number.NEGATIVE_INFINITY;
  /** Time until which the other places come first. */
  private avoidUntil = 0;

  constructor(
    sources: ColdSources,
    metrics: Metrics,
    log: RareLog,
    now: () => number = () => performance.now(),
  ) {
    this.sources = sources;
    this.metrics = metrics;
    this.log = log;
    this.now = now;
  }

  /** Loads a channel. Callers that ask for it at the same time share the load. */
  load(name: Named): Promise<Loaded> {
    const key = keyOf(name);
    const running = this.loads.get(key);
    if (running !== undefined) return running;
    const load = this.run(name).finally(() => this.loads.delete(key));
    this.loads.set(key, load);
    return load;
  }

  private async run(name: Named): Promise<Loaded> {
    if (this.mayAskFirst()) {
      const answer = await withinTime(this.readOf(name).outcome, PATIENCE_MS);
      if (answer?.loaded !== undefined) return answer.loaded;
      if (answer === undefined) this.avoid('late', `no answer within ${PATIENCE_MS} ms`);
    }
    const found = await this.sources.elsewhere(name);
    if (found !== undefined) return found;
    if (this.ledger === 'failed') return unavailable();
    const read = this.readOf(name);
    // The read keeps its place in the queue: a caller that comes again may find it done.
    if (!read.hasBegun()) return unavailable();
    return (await withinTime(read.outcome, WAIT_MS_MAX - PATIENCE_MS))?.loaded ?? unavailable();
  }

  /** Whether the ledger comes first. After a fault, one load at a time tries whether it does again. */
  private mayAskFirst(): boolean {
    if (this.ledger === 'answered') return true;
    if (this.now() < this.avoidUntil) return false;
    this.avoidUntil = this.now() + PATIENCE_MS;
    return true;
  }

  /** Returns the read of the channel that runs or waits, or else begins one. */
  private readOf(name: Named): LedgerRead {
    const key = keyOf(name);
    const known = this.reads.get(key);
    if (known !== undefined) return known;
    const askedAt = this.now();
    let hasBegun = false;
    const run = async (): Promise<LedgerAnswer> => {
      hasBegun = true;
      // Reads that waited behind one that failed would fail one after the other, each after a time limit.
      return this.failedAt >= askedAt ? {} : this.ask(name);
    };
    const outcome = this.gate.pass(run).catch((error: unknown) => this.survive(error));
    void outcome.catch((error: unknown) => {
      // Its callers may have gone.
      this.log.warn({ err: error, ...name }, 'a channel could not be loaded');
    });
    const read = { hasBegun: () => hasBegun, outcome };
    this.reads.set(key, read);
    const forget = () => this.reads.delete(key);
    outcome.then(forget, forget);
    return read;
  }

  private async ask(name: Named): Promise<LedgerAnswer> {
    try {
      const loaded = await this.sources.ledger(name);
      this.ledger = 'answered';
      return { loaded };
    } catch (error) {
      if (error instanceof Unavailable) {
        this.failedAt = this.now();
        this.avoid('failed', error);
      }
      throw error;
    }
  }

  private survive(error: unknown): LedgerAnswer {
    if (error instanceof Unavailable) return {};
    throw error;
  }

  private avoid(ledger: 'late' | 'failed', cause: unknown): void {
    this.ledger = ledger;
    this.avoidUntil = this.now() + AVOID_MS;
    this.metrics.faults.add('cold-load');
    this.log.warn({ err: cause }, 'ledger unavailable, looking for the last known state');
  }
}

function keyOf({ appRef, channel }: Named): string {
  return `${appRef}/${channel}`;
}

function unavailable(): Failure<'unavailable'> {
  return failUntil('unavailable', RETRY_MS);
}

// Snapshots that the nodes share in the engine. An engine that is away has none, and takes none: the fault is
// counted, and callers go on with the ledger.

export class SharedSnapshots {
  private readonly engine: Pick<Engine, 'getSnapshot' | 'getSnapshotHead' | 'putSnapshot'>;
  private readonly metrics: Metrics;

  constructor(
    engine: Pick<Engine, 'getSnapshot' | 'getSnapshotHead' | 'putSnapshot'>,
    metrics: Metrics,
  ) {
    this.engine = engine;
    this.metrics = metrics;
  }

  /** Returns the shared snapshot of a channel, if there is one; `known` saves reading what it has. */
  find(
    appRef: string,
    channel: string,
    known?: ServingSnapshot,
  ): Promise<ServingSnapshot | undefined> {
    return this.survive('engine-read', this.engine.getSnapshot(appRef, channel, known));
  }

  /** Returns what the shared snapshot of a channel is, without its content, if there is one. */
  findHead(appRef: string, channel: string): Promise<SnapshotHead | undefined> {
    return this.survive('engine-read', this.engine.getSnapshotHead(appRef, channel));
  }

  /** Shares a snapshot; returns the order of a newer one that was kept instead, if there is one. */
  put(snapshot: ServingSnapshot): Promise<ServingOrder | undefined> {
    return this.survive('engine-write', this.engine.putSnapshot(snapshot));
  }

  private async survive<Answer>(
    place: string,
    answer: Promise<Answer | undefined>,
  ): Promise<Answer | undefined> {
    try {
      return await answer;
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      this.metrics.faults.add(place);
      return undefined;
    }
  }
}

// Compiling of catalogs without stopping the process for long: a channel may have thousands of releases, and
// requests of other channels wait meanwhile.

/** Number of releases after which the clock is read, which would take as long as a few of them. */
const CLOCK_EVERY = 32;

/**
 * Compiles a snapshot. What `before` has of the same editions is used again: after a change of one release,
 * one is compiled.
 */
export async function compileInSlices(
  snapshot: ServingSnapshot,
  before: Catalog | undefined,
): Promise<Catalog> {
  const slice = new TimeSlice();
  const compiled: (CompiledRelease | undefined)[] = [];
  const finder = new EditionFinder(before?.compiled ?? [], (release) => release?.source.edition);
  for (const source of snapshot.releases) {
    compiled.push(compileRelease(source, finder.find(source.edition, compiled.length)));
    if (compiled.length % CLOCK_EVERY === 0 && slice.isOver) await slice.pause();
  }
  return catalogOf(snapshot, compiled);
}
