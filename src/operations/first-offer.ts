// The barrier in front of a release's first manifest. "Offered" must be durable before that manifest leaves,
// and ordered against serving control; the ledger's guarded write does both. After that the flag stands in
// the catalog and costs nothing.
//
// Parallel first checks share one write. When the ledger does not answer, releases that were never
// offered are unavailable for a moment without asking again: a check must not wait for a dead store.

import type { Catalog, CompiledRelease } from '../domain/catalog.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { RareLog } from '../observe/rare-log.ts';
import type { Ledger } from '../ports/ledger.ts';
import { Unavailable } from '../ports/unavailable.ts';

/** `stale`: the channel has moved on since this catalog; decide again from a newer one. */
export type FirstOfferOutcome = 'recorded' | 'stale' | 'unavailable';

/** Makes the flag stand wherever this node remembers the release; afterwards `release.offered` is true. */
export type OnRecorded = (catalog: Catalog, release: CompiledRelease) => void;

const WAIT_MAX_MS = 1500;
const RETRY_AFTER_FAULT_MS = 1000;
const AVOIDED_MAX = 10_000;
const EVERY_CHANNEL = '*';

export class FirstOffers {
  private readonly ledger: Ledger;
  private readonly metrics: Metrics;
  private readonly log: RareLog;
  private readonly onRecorded: OnRecorded;
  private readonly now: () => number;
  /** Bounded by the releases of loaded catalogs, since each entry is one of their writes in flight. */
  private readonly running = new Map<string, Promise<FirstOfferOutcome>>();
  /** Until when nothing is asked, by channel, and under `EVERY_CHANNEL` for all: on a monotonic clock. */
  private readonly avoidUntil = new Map<string, number>();

  constructor(
    ledger: Ledger,
    metrics: Metrics,
    log: RareLog,
    onRecorded: OnRecorded,
    now: () => number = () => performance.now(),
  ) {
    this.ledger = ledger;
    this.metrics = metrics;
    this.log = log;
    this.onRecorded = onRecorded;
    this.now = now;
  }

  /** Records that a release of this catalog is about to be offered. Never rejects for a store's sake. */
  async record(catalog: Catalog, release: CompiledRelease): Promise<FirstOfferOutcome> {
    if (release.offered) return 'recorded';
    const key = `${release.source.id}@${catalog.snapshot.revision}`;
    const running = this.running.get(key);
    if (running !== undefined) return running;
    if (this.isAvoided(catalog.snapshot.channelId)) return 'unavailable';
    const attempt = this.attempt(catalog, release).finally(() => this.running.delete(key));
    this.running.set(key, attempt);
    return attempt;
  }

  private async attempt(catalog: Catalog, release: CompiledRelease): Promise<FirstOfferOutcome> {
    const outcome = await this.write(catalog, release);
    if (outcome === 'recorded') this.onRecorded(catalog, release);
    this.metrics.firstOffers.add(outcome);
    return outcome;
  }

  private async write(catalog: Catalog, release: CompiledRelease): Promise<FirstOfferOutcome> {
    const { channelId, revision } = catalog.snapshot;
    try {
      const isRecorded = await withinTime(
        this.ledger.recordFirstOffer(channelId, release.source.id, revision),
      );
      // Too slow for this channel's sake, perhaps: its row may be locked. Others need not suffer for it.
      if (isRecorded === undefined) return this.avoid(channelId);
      return isRecorded ? 'recorded' : 'stale';
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      this.log.warn(
        { err: error, release: release.source.id },
        'first offer could not be recorded',
      );
      return this.avoid(EVERY_CHANNEL);
    }
  }

  private avoid(channel: string): 'unavailable' {
    // Few entries live at a time; the bound is for a ledger that is slow for every channel.
    if (this.avoidUntil.size >= AVOIDED_MAX) this.avoidUntil.clear();
    this.avoidUntil.set(channel, this.now() + RETRY_AFTER_FAULT_MS);
    return 'unavailable';
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

/** Undefined when it takes too long. The write may still happen later, which only errs to the safe side. */
async function withinTime<Value>(work: Promise<Value>): Promise<Value | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, WAIT_MAX_MS, undefined);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
