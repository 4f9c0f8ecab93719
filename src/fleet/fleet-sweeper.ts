// Deletes devices that have been silent for long, version changes that have newer ones enough, old adoption
// counts, idempotency keys that are over, old entries of the audit, and erasures that no check-in can be
// older than, and expires requests for approvals: a few rows at a time, so that no other statement waits.

import { LIMIT } from '../contract/limit.ts';
import { isoTime } from '../contract/text.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Ledger } from '../store/ledger.ts';

export type Retention = {
  /** Days of silence after which a device is deleted. */
  readonly devicesDays: number;
  /** Days for which adoption hours are kept. */
  readonly hoursDays: number;
  /** Days for which entries of the audit are kept; undefined for ever. */
  readonly auditDays: number | undefined;
};

const DAY_MS = 86_400_000;
const ROWS_PER_TURN_MAX = 1000;
/** Maximum number of counts of new devices that a turn forgets: they are small and nobody waits for them. */
const ADMISSIONS_PER_TURN_MAX = 10_000;
const IDEMPOTENCY_KEYS_PER_TURN_MAX = 1000;
/** Days for which an erasure is remembered: a day longer than a check-in from before it may be on its way. */
const ERASURE_DAYS = LIMIT.checkInAgeDaysMax + 1;
const APPROVALS_PER_TURN_MAX = 100;
const TURN_INTERVAL_MS = 60_000;
/** Milliseconds until the next turn when more rows are due: rows must go faster than new ones fall due. */
const BUSY_INTERVAL_MS = 1000;

type SweptLedger = Pick<
  Ledger,
  | 'sweepFleet'
  | 'trimHistories'
  | 'forgetAdmissions'
  | 'forgetIdempotencyKeys'
  | 'forgetAudit'
  | 'forgetErasures'
  | 'sweepApprovals'
  | 'readTime'
>;

export class FleetSweeper {
  private readonly ledger: SweptLedger;
  private readonly retention: Retention;
  private readonly metrics: Metrics;
  private readonly log: Log;
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<unknown> = Promise.resolve();
  private isStopped = false;

  constructor(ledger: SweptLedger, retention: Retention, metrics: Metrics, log: Log) {
    this.ledger = ledger;
    this.retention = retention;
    this.metrics = metrics;
    this.log = log;
  }

  /** Sweeps periodically until `stop`. Several nodes may sweep at the same time: a row is deleted once. */
  start(): void {
    this.schedule(TURN_INTERVAL_MS * Math.random());
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.timer);
    await this.running;
  }

  /** Sweeps once. Returns whether more rows may be due. Never rejects. */
  async sweep(): Promise<boolean> {
    try {
      // By the clock of a node that is a year ahead, the whole fleet would have been silent for too long.
      const nowMs = await this.ledger.readTime();
      const gone = await this.ledger.sweepFleet(
        daysBefore(nowMs, this.retention.devicesDays),
        daysBefore(nowMs, this.retention.hoursDays),
        ROWS_PER_TURN_MAX,
      );
      const trimmed = await this.ledger.trimHistories(ROWS_PER_TURN_MAX);
      const forgotten = await this.ledger.forgetAdmissions(ADMISSIONS_PER_TURN_MAX);
      const keys = await this.ledger.forgetIdempotencyKeys(IDEMPOTENCY_KEYS_PER_TURN_MAX);
      const approvals = await this.ledger.sweepApprovals(APPROVALS_PER_TURN_MAX);
      const entries = await this.forgetAudit(nowMs);
      const erasures = await this.ledger.forgetErasures(
        daysBefore(nowMs, ERASURE_DAYS),
        ROWS_PER_TURN_MAX,
      );
      return (
        Math.max(gone.devices, gone.hours, trimmed, entries, erasures) === ROWS_PER_TURN_MAX ||
        forgotten === ADMISSIONS_PER_TURN_MAX ||
        keys === IDEMPOTENCY_KEYS_PER_TURN_MAX ||
        approvals === APPROVALS_PER_TURN_MAX
      );
    } catch (error) {
      this.metrics.faults.add('sweep');
      this.log.warn({ err: error }, 'sweeping the fleet failed');
      return false;
    }
  }

  private async forgetAudit(nowMs: number): Promise<number> {
    const { auditDays } = this.retention;
    if (auditDays === undefined) return 0;
    const before = daysBefore(nowMs, auditDays);
    const entries = await this.ledger.forgetAudit(before, ROWS_PER_TURN_MAX);
    this.metrics.auditRemoved.inc(entries);
    return entries;
  }

  private schedule(delayMs: number): void {
    if (this.isStopped) return;
    this.timer = setTimeout(() => {
      this.running = this.sweep().then((hasMore) =>
        this.schedule(hasMore ? BUSY_INTERVAL_MS : TURN_INTERVAL_MS),
      );
    }, delayMs);
  }
}

function daysBefore(nowMs: number, days: number): string {
  return isoTime(nowMs - days * DAY_MS);
}
