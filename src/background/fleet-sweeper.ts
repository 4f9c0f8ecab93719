// Forgets devices that have been silent for long, and adoption hours that are old: a few rows at a time, so
// that nothing else waits for it.

import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Ledger } from '../ports/ledger.ts';

export type Retention = {
  /** Days of silence after which a device is forgotten. */
  readonly devicesDays: number;
  /** Days for which adoption hours are kept. */
  readonly hoursDays: number;
};

const DAY_MS = 86_400_000;
const ROWS_PER_TURN_MAX = 1000;
const TURN_INTERVAL_MS = 60_000;
/** With more to do, the next turn comes soon: the sweep must be faster than a fleet can age. */
const BUSY_INTERVAL_MS = 1000;

export class FleetSweeper {
  private readonly ledger: Pick<Ledger, 'sweepFleet'>;
  private readonly retention: Retention;
  private readonly metrics: Metrics;
  private readonly log: Log;
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<unknown> = Promise.resolve();
  private isStopped = false;

  constructor(
    ledger: Pick<Ledger, 'sweepFleet'>,
    retention: Retention,
    metrics: Metrics,
    log: Log,
  ) {
    this.ledger = ledger;
    this.retention = retention;
    this.metrics = metrics;
    this.log = log;
  }

  /** Sweeps from time to time until `stop`. Several nodes may: a row is deleted once. */
  start(): void {
    this.schedule(TURN_INTERVAL_MS * Math.random());
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.timer);
    await this.running;
  }

  /** One turn at a given time; true when there may be more to do. Never rejects. */
  async sweep(nowMs: number): Promise<boolean> {
    try {
      const gone = await this.ledger.sweepFleet(
        daysBefore(nowMs, this.retention.devicesDays),
        daysBefore(nowMs, this.retention.hoursDays),
        ROWS_PER_TURN_MAX,
      );
      return Math.max(gone.devices, gone.hours) === ROWS_PER_TURN_MAX;
    } catch (error) {
      this.metrics.faults.add('sweep');
      this.log.warn({ err: error }, 'sweeping the fleet failed');
      return false;
    }
  }

  private schedule(delayMs: number): void {
    if (this.isStopped) return;
    this.timer = setTimeout(() => {
      this.running = this.sweep(Date.now()).then((hasMore) =>
        this.schedule(hasMore ? BUSY_INTERVAL_MS : TURN_INTERVAL_MS),
      );
    }, delayMs);
  }
}

function daysBefore(nowMs: number, days: number): string {
  return new Date(nowMs - days * DAY_MS).toISOString();
}
