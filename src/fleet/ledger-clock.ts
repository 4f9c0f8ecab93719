// Clock of the ledger, as a process knows it. Times that nodes compare with each other are the ledger's: a
// node whose own clock is wrong must not make its check-ins look newer, or older, than they are.
//
// The process asks the ledger for its time every few seconds, and counts on from there by its stopwatch,
// which no change of the machine's clock moves. An answer is only as precise as its round trip is short, so
// it corrects the counted time only if that is outside of what the round trip allows, and then no further
// than it has to: times go back as little as possible.

// Imported, because every access to the global `performance` would call a getter.
import { performance as steady } from 'node:perf_hooks';
import { type Periodic, periodic, tellFault } from '../flow/periodic.ts';
import { withinTime } from '../flow/within-time.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Ledger } from '../store/ledger.ts';

export class LedgerClock {
  /** Time of the ledger, in milliseconds since 1970, at which the stopwatch showed 0. */
  private startMs: number;
  private isCompared = false;

  /**
   * `wallClock` is the clock of the machine in milliseconds since 1970, which may be wrong and may jump;
   * `stopwatch` returns milliseconds that never go back.
   */
  constructor(
    private readonly ledger: Pick<Ledger, 'readTime'>,
    private readonly wallClock: () => number = () => Date.now(),
    private readonly stopwatch: () => number = () => steady.now(),
  ) {
    this.startMs = wallClock() - stopwatch();
  }

  /**
   * Present time in milliseconds since 1970, with a fraction: the ledger's, or before the first comparison
   * the machine's. `reading` is the stopwatch's present value, for a caller that has just read it.
   */
  now(reading = this.stopwatch()): number {
    return this.startMs + reading;
  }

  /**
   * Milliseconds by which the clock of the machine is ahead of the ledger's, as precisely as round trips
   * allow; negative when it is behind. Undefined before the first comparison.
   */
  get aheadMs(): number | undefined {
    return this.isCompared ? this.wallClock() - this.now() : undefined;
  }

  /** Asks the ledger for its time. Rejects with `Unavailable` when it does not answer. */
  async compare(): Promise<void> {
    const begin = this.stopwatch();
    const ledgerMs = await this.ledger.readTime();
    const end = this.stopwatch();
    // The ledger read its clock at some moment of the round trip.
    const [lowest, highest] = [ledgerMs - end, ledgerMs - begin];
    const nearest = Math.min(Math.max(this.startMs, lowest), highest);
    // The first answer replaces the machine's clock, of which nothing is known.
    this.startMs = this.isCompared ? nearest : (lowest + highest) / 2;
    this.isCompared = true;
  }
}

// Compares the clock of this machine with the ledger's, every few seconds, and warns of a difference.

const INTERVAL_MS = 5000;
/** Longest wait of a start for the first comparisons; after it, the process starts with its own clock. */
const FIRST_WAIT_MS_MAX = 1000;
/** Difference in milliseconds above which the clock of the node counts as wrong. */
const DIFFERENCE_MS_MAX = 5000;
/** Minimum time in milliseconds between two warnings. */
const WARNING_INTERVAL_MS = 60_000;

type ClockWatchDependencies = {
  readonly clock: Pick<LedgerClock, 'compare' | 'aheadMs'>;
  readonly metrics: Metrics;
  readonly log: Log;
  /**
   * Whether this process reports the node's difference, in a warning and a metric. The processes of a node
   * have one clock, so one of them reports it.
   */
  readonly isTelling: boolean;
  /** Milliseconds between two comparisons; 5,000 by default. */
  readonly intervalMs?: number;
};

export class ClockWatch {
  private readonly loop: Periodic;
  private warnedAt = Number.NEGATIVE_INFINITY;

  constructor(private readonly dependencies: ClockWatchDependencies) {
    const { clock, metrics, isTelling, intervalMs = INTERVAL_MS } = dependencies;
    this.loop = periodic(() => this.compare(), {
      everyMs: intervalMs,
      onFault: (error) =>
        tellFault(dependencies, 'clock', error, 'the clocks could not be compared'),
    });
    if (!isTelling) return;
    metrics.gauge(
      'sluice_clock_difference_seconds',
      'Seconds by which the clock of this node is ahead of the database',
      () => Math.round(clock.aheadMs ?? Number.NaN) / 1000,
    );
  }

  /** Compares until `stop`. Resolves after the first two comparisons, or after a second without them. */
  async start(): Promise<void> {
    const { clock } = this.dependencies;
    const compared = clock
      .compare()
      .catch(() => undefined)
      // The first answer may have waited for a connection; the second one is more precise.
      .then(() => this.loop.turn())
      .then(() => this.loop.start());
    await withinTime(compared, FIRST_WAIT_MS_MAX);
  }

  /** Stops comparing. A comparison in progress ends when the ledger is closed, at the latest. */
  stop(): void {
    void this.loop.stop();
  }

  private async compare(): Promise<void> {
    const { clock, log, isTelling } = this.dependencies;
    await clock.compare();
    const aheadMs = clock.aheadMs ?? 0;
    const now = performance.now();
    if (!isTelling || Math.abs(aheadMs) <= DIFFERENCE_MS_MAX) return;
    if (now - this.warnedAt < WARNING_INTERVAL_MS) return;
    this.warnedAt = now;
    const differenceSeconds = Math.round(aheadMs) / 1000;
    log.warn({ differenceSeconds }, 'the clock of this node differs from that of the database');
  }
}
