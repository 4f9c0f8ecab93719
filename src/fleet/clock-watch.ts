// Compares the clock of this machine with the ledger's, every few seconds, and warns of a difference.

import { Unavailable } from '../contract/unavailable.ts';
import { withinTime } from '../flow/within-time.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { LedgerClock } from './ledger-clock.ts';

const INTERVAL_MS = 5000;
/** Longest wait of a start for the first comparison; the process then starts by its own clock. */
const FIRST_WAIT_MS_MAX = 1000;
/** Difference in milliseconds above which the clock of the node counts as wrong. */
const DIFFERENCE_MS_MAX = 5000;
/** Least time in milliseconds between two warnings. */
const WARNING_INTERVAL_MS = 60_000;

export type ClockWatchDependencies = {
  readonly clock: Pick<LedgerClock, 'compare' | 'aheadMs'>;
  readonly metrics: Metrics;
  readonly log: Log;
  /**
   * Whether this process tells the node's difference, in a warning and a metric. The processes of a node have
   * one clock, so one of them tells it.
   */
  readonly isTelling: boolean;
  /** Milliseconds between two comparisons; 5,000 by default. */
  readonly intervalMs?: number;
};

export class ClockWatch {
  private readonly dependencies: ClockWatchDependencies;
  private timer: NodeJS.Timeout | undefined;
  private isStopped = false;
  private warnedAt = Number.NEGATIVE_INFINITY;

  constructor(dependencies: ClockWatchDependencies) {
    this.dependencies = dependencies;
    const { clock, metrics, isTelling } = dependencies;
    if (!isTelling) return;
    metrics.gauge(
      'sluice_clock_difference_seconds',
      'Seconds by which the clock of this node is ahead of the database',
      () => Math.round(clock.aheadMs ?? Number.NaN) / 1000,
    );
  }

  /**
   * Compares until `stop`. Resolves after the first comparison, or soon when the ledger does not answer.
   */
  async start(): Promise<void> {
    const compared = this.dependencies.clock.compare().then(
      // The first answer may have waited for a connection: the second tells the difference better.
      () => this.compare(),
      () => this.compare(),
    );
    await withinTime(compared, FIRST_WAIT_MS_MAX);
  }

  /** Stops comparing. A comparison in progress ends when the ledger is closed, at the latest. */
  stop(): void {
    this.isStopped = true;
    clearTimeout(this.timer);
  }

  /** Compares once, then schedules the next comparison. Never rejects. */
  private async compare(): Promise<void> {
    const { clock, metrics, log } = this.dependencies;
    try {
      await clock.compare();
      this.warn();
    } catch (error) {
      metrics.faults.add('clock');
      const level = error instanceof Unavailable ? 'debug' : 'error';
      log[level]({ err: error }, 'the clocks could not be compared');
    }
    if (this.isStopped) return;
    const { intervalMs = INTERVAL_MS } = this.dependencies;
    this.timer = setTimeout(() => void this.compare(), intervalMs);
  }

  private warn(): void {
    const { clock, log, isTelling } = this.dependencies;
    const aheadMs = clock.aheadMs ?? 0;
    const now = performance.now();
    if (!isTelling || Math.abs(aheadMs) <= DIFFERENCE_MS_MAX) return;
    if (now - this.warnedAt < WARNING_INTERVAL_MS) return;
    this.warnedAt = now;
    const differenceSeconds = Math.round(aheadMs) / 1000;
    log.warn({ differenceSeconds }, 'the clock of this node differs from that of the database');
  }
}
