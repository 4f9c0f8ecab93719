// Deletes devices that have been silent for long, version changes beyond those kept of a device, old adoption
// counts, expired idempotency keys, old entries of the audit, and erasures older than any check-in; also
// expires requests for approvals. A few rows at a time, so that no other statement waits.

import { LIMIT } from '../contract/limit.ts';
import { isoTime } from '../contract/text.ts';
import { type Periodic, periodic } from '../flow/periodic.ts';
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
/** Maximum number of counts of new devices that a turn deletes; more than of others, as they are small. */
const ADMISSIONS_PER_TURN_MAX = 10_000;
const IDEMPOTENCY_KEYS_PER_TURN_MAX = 1000;
/** Days for which an erasure is remembered: a day longer than the age up to which check-ins are recorded. */
const ERASURE_DAYS = LIMIT.checkInAgeDaysMax + 1;
const APPROVALS_PER_TURN_MAX = 100;
const TURN_INTERVAL_MS = 60_000;
/** Milliseconds until the next turn when more rows are due: rows must go faster than they fall due. */
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

/** Returns the sweeps of a node. Several nodes may sweep at the same time: a row is deleted once. */
export function sweeps(
  ledger: SweptLedger,
  retention: Retention,
  metrics: Metrics,
  log: Log,
): Periodic {
  return periodic(() => sweep(ledger, retention, metrics), {
    everyMs: TURN_INTERVAL_MS,
    firstMs: TURN_INTERVAL_MS * Math.random(),
    busyMs: BUSY_INTERVAL_MS,
    onFault(error) {
      metrics.faults.add('sweep');
      log.warn({ err: error }, 'sweeping the fleet failed');
    },
  });
}

/** Sweeps once. Returns whether more rows may be due. */
async function sweep(
  ledger: SweptLedger,
  { devicesDays, hoursDays, auditDays }: Retention,
  metrics: Metrics,
): Promise<boolean> {
  // By a node's clock that is a year ahead, the whole fleet would have been silent for too long.
  const nowMs = await ledger.readTime();
  const before = (days: number) => isoTime(nowMs - days * DAY_MS);
  const gone = await ledger.sweepFleet(before(devicesDays), before(hoursDays), ROWS_PER_TURN_MAX);
  const trimmed = await ledger.trimHistories(ROWS_PER_TURN_MAX);
  const forgotten = await ledger.forgetAdmissions(ADMISSIONS_PER_TURN_MAX);
  const keys = await ledger.forgetIdempotencyKeys(IDEMPOTENCY_KEYS_PER_TURN_MAX);
  const approvals = await ledger.sweepApprovals(APPROVALS_PER_TURN_MAX);
  const entries =
    auditDays === undefined ? 0 : await ledger.forgetAudit(before(auditDays), ROWS_PER_TURN_MAX);
  metrics.auditRemoved.inc(entries);
  const erasures = await ledger.forgetErasures(before(ERASURE_DAYS), ROWS_PER_TURN_MAX);
  return (
    Math.max(gone.devices, gone.hours, trimmed, entries, erasures) === ROWS_PER_TURN_MAX ||
    forgotten === ADMISSIONS_PER_TURN_MAX ||
    keys === IDEMPOTENCY_KEYS_PER_TURN_MAX ||
    approvals === APPROVALS_PER_TURN_MAX
  );
}
