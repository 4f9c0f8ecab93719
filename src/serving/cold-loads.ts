// Loads channels from the ledger, else from their last known state on this node's disk and in the engine.
//
// A load waits less than a second for the ledger. After a failure or a late answer, the other sources come
// first for a second; then one load tries the ledger again. A late read goes on, and its result is served.
// Names of existing channels get here, and other names only from authorized callers or, while the list of
// channels is cut off, a few at a time: so clients cannot fill the queue with invented ones.

import { type Failure, failUntil, type Outcome } from '../contract/failure.ts';
import { Unavailable, whenAway } from '../contract/store-fault.ts';
import { type Catalog, compileSteps } from '../domain/decision/catalog.ts';
import type { ServingOrder, ServingSnapshot } from '../domain/decision/serving-snapshot.ts';
import { ConcurrencyLimit } from '../flow/concurrency-limit.ts';
import { inSlices } from '../flow/time-slice.ts';
import { withinTime } from '../flow/within-time.ts';
import type { FaultPlace } from '../observe/label-values.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { RareLog } from '../observe/rare-log.ts';
import type { Engine, SnapshotHead } from '../store/engine.ts';
import type { CatalogSlot } from './catalog-slot.ts';

type Loaded = Outcome<CatalogSlot>;

type Named = { readonly appRef: string; readonly channel: string };

/**
 * Maximum number of concurrent reads of the ledger, far below its connections, which publishers need too. As
 * many reads may wait as a node can hold channels.
 */
const READS_RUNNING_MAX = 4;
const READS_WAITING_MAX = 10_000;
/** Maximum wait for the ledger in milliseconds before the other sources are read. */
const PATIENCE_MS = 800;
/** Maximum wait in milliseconds if only the ledger has the channel: the limit of one statement. */
const WAIT_MS_MAX = 5000;
/** Milliseconds for which the other sources come first after the ledger failed or was late. */
const AVOID_MS = 1000;
const RETRY_MS = 1000;

/** Answer of the ledger, empty if it is unavailable. */
type LedgerAnswer = { readonly loaded?: Loaded };

type LedgerRead = {
  readonly hasBegun: () => boolean;
  readonly outcome: Promise<LedgerAnswer>;
};

export class ColdLoads {
  private readonly gate = new ConcurrencyLimit(READS_RUNNING_MAX, READS_WAITING_MAX);
  private readonly loads = new Map<string, Promise<Loaded>>();
  private readonly reads = new Map<string, LedgerRead>();
  /** Outcome of the ledger's latest read. */
  private ledger: 'answered' | 'late' | 'failed' = 'answered';
  private failedAt = Number.NEGATIVE_INFINITY;
  /** Time until which the other sources come first. */
  private avoidUntil = 0;

  constructor(
    private readonly sources: {
      /** Reads the channel from the ledger and serves it from then on. */
      readonly ledger: (name: Named) => Promise<Loaded>;
      /** Serves the newest state on disk and in the engine; undefined if there is none. */
      readonly elsewhere: (name: Named) => Promise<CatalogSlot | undefined>;
    },
    private readonly metrics: Metrics,
    private readonly log: RareLog,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Loads a channel. Concurrent callers share the load. */
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
    // The read stays in the queue: a caller that comes again may find it done.
    if (!read.hasBegun()) return unavailable();
    return (await withinTime(read.outcome, WAIT_MS_MAX - PATIENCE_MS))?.loaded ?? unavailable();
  }

  /** Returns whether the ledger comes first. After a fault, one load at a time tries it again. */
  private mayAskFirst(): boolean {
    if (this.ledger === 'answered') return true;
    if (this.now() < this.avoidUntil) return false;
    this.avoidUntil = this.now() + PATIENCE_MS;
    return true;
  }

  /** Returns the running or waiting read of the channel, or begins one. */
  private readOf(name: Named): LedgerRead {
    const key = keyOf(name);
    const known = this.reads.get(key);
    if (known !== undefined) return known;
    const askedAt = this.now();
    let hasBegun = false;
    const run = async (): Promise<LedgerAnswer> => {
      hasBegun = true;
      // Reads that waited behind a failed one would also fail one by one, each after a time limit.
      return this.failedAt >= askedAt ? {} : this.ask(name);
    };
    const outcome = this.gate.pass(run).catch(whenAway((): LedgerAnswer => ({})));
    void outcome.catch((error: unknown) => {
      // All callers may have stopped waiting.
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

  private avoid(ledger: 'late' | 'failed', cause: unknown): void {
    this.ledger = ledger;
    this.avoidUntil = this.now() + AVOID_MS;
    this.metrics.faults.add('cold-load');
    this.log.warnAbout(
      'ledger',
      { err: cause },
      'ledger unavailable, looking for the last known state',
    );
  }
}

function keyOf({ appRef, channel }: Named): string {
  return `${appRef}/${channel}`;
}

function unavailable(): Failure {
  return failUntil('unavailable', RETRY_MS);
}

// Snapshots that nodes share in the engine. While the engine is unavailable, the fault is counted and callers
// continue with the ledger.

export class SharedSnapshots {
  constructor(
    private readonly engine: Pick<Engine, 'getSnapshot' | 'getSnapshotHead' | 'putSnapshot'>,
    private readonly metrics: Metrics,
  ) {}

  /** Returns the shared snapshot of a channel, if there is one; parts in `known` are not read again. */
  find(
    appRef: string,
    channel: string,
    known?: ServingSnapshot,
  ): Promise<ServingSnapshot | undefined> {
    return this.survive('engine-read', this.engine.getSnapshot(appRef, channel, known));
  }

  /** Returns the head of a channel's shared snapshot, without its content, if there is one. */
  findHead(appRef: string, channel: string): Promise<SnapshotHead | undefined> {
    return this.survive('engine-read', this.engine.getSnapshotHead(appRef, channel));
  }

  /** Shares a snapshot; returns the order of a newer one that the engine kept instead, if there is one. */
  put(snapshot: ServingSnapshot): Promise<ServingOrder | undefined> {
    return this.survive('engine-write', this.engine.putSnapshot(snapshot));
  }

  private survive<Answer>(
    place: FaultPlace,
    answer: Promise<Answer | undefined>,
  ): Promise<Answer | undefined> {
    return answer.catch(whenAway(() => void this.metrics.faults.add(place)));
  }
}

/**
 * Compiles a snapshot and reuses the compiled releases of `before` with the same edition: usually all but
 * one. Lets requests of other channels run in between.
 */
export function compileInSlices(
  snapshot: ServingSnapshot,
  before: Catalog | undefined,
): Promise<Catalog> {
  return inSlices(compileSteps(snapshot, before));
}
