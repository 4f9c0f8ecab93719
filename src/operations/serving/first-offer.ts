// Barrier in front of the first manifest of a release. The mark "offered" must be durable before that
// manifest is sent, and ordered against serving control; the ledger's guarded write does both. Afterwards the
// mark is in the catalog and costs nothing.
//
// Parallel first checks share one write. When the ledger does not answer, releases that were never offered
// are unavailable for a moment without asking again: a check must not wait for a dead store.

import type { Catalog, CompiledRelease } from '../../domain/decision/catalog.ts';
import { withinTime } from '../../flow/within-time.ts';
import type { Metrics } from '../../observe/metrics.ts';
import type { RareLog } from '../../observe/rare-log.ts';
import type { Ledger } from '../../ports/ledger.ts';
import { Unavailable } from '../../ports/unavailable.ts';

/**
 * Outcome of recording an offer. `stale`: the channel has changed since this catalog, so decide again from a
 * newer one.
 */
export type FirstOfferOutcome = 'recorded' | 'stale' | 'unavailable';

/** Sets the mark wherever this node keeps the release; afterwards `release.offered` is true. */
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
  /** Writes in flight by release; bounded by the number of releases in loaded catalogs. */
  private readonly running = new Map<string, Promise<FirstOfferOutcome>>();
  /**
   * Times until which the ledger is not asked, by channel, and under `EVERY_CHANNEL` for all; on a monotonic
   * clock.
   */
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

  /**
   * Records that a release of this catalog is about to be offered. Does not reject when a store is
   * unavailable.
   */
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
      // A write that is no longer awaited may still succeed, which errs on the safe side.
      const isRecorded = await withinTime(
        this.ledger.recordFirstOffer(channelId, release.source.id, revision),
        WAIT_MAX_MS,
      );
      // Only this channel is avoided: its row may be locked, which does not concern others.
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
    // Few entries exist at a time; the bound is for a ledger that is slow for every channel.
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
