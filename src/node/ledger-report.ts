// What the ledger tells about its database, in the log and in the figures. What lasts is told once a minute.

import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { RareLog } from '../observe/rare-log.ts';
import type { LedgerReport } from '../store/ledger-identity.ts';
import type { RememberedChannel } from '../store/ledger-memory.ts';

/** What an operator can do about a database that is not the record. */
const FOREIGN_REMEDY =
  'Mount or name the right database: it is used as soon as it is there. To start anew with this ' +
  'one, stop all nodes, remove the keys of Sluice from Redis and the folder "snapshots" from ' +
  'DATA_DIR, and start them.';
/** Maximum number of channels that a line names. */
const NAMES_MAX = 20;

export type LedgerReportOptions = {
  /** Whether this process serves devices: those that do tell of lost channels, which they had. */
  readonly isServing: boolean;
  /** Forgets lost channels; returns those that were not lost before. */
  readonly onLost: (channels: readonly RememberedChannel[]) => readonly RememberedChannel[];
  /** Called when a database is admitted as the record of a name, for certain or not. */
  readonly onAdmitted: (record: string, isSettled: boolean) => void;
  /** Called when the database turns out not to be the record. */
  readonly onForeign: () => void;
};

export class LoggedLedgerReport implements LedgerReport {
  private readonly metrics: Metrics;
  private readonly log: Log;
  private readonly warnings: RareLog;
  private readonly errors: RareLog;
  private readonly options: LedgerReportOptions;
  private isForeignNow = false;

  constructor(metrics: Metrics, log: Log, options: LedgerReportOptions) {
    this.metrics = metrics;
    this.log = log;
    this.warnings = new RareLog(log);
    this.errors = new RareLog({
      warn: (details: object, message?: string) => log.error(details, message),
    });
    this.options = options;
    metrics.gauge(
      'sluice_ledger_foreign',
      'Whether the database is not the record that is remembered: 1, or 0',
      () => (this.isForeignNow ? 1 : 0),
    );
  }

  /** Whether the database is not the record. */
  get isForeign(): boolean {
    return this.isForeignNow;
  }

  fault(error: unknown): void {
    this.warnings.warnAbout('ledger', { err: error }, 'ledger fault');
  }

  refused(error: unknown): void {
    this.metrics.faults.add('ledger-refused');
    this.errors.warnAbout(
      'ledger',
      { err: error },
      'the database cannot be used, what is known is served',
    );
  }

  foreign(count: number): void {
    this.isForeignNow = true;
    this.metrics.faults.add('ledger-foreign');
    this.errors.warnAbout(
      'ledger',
      { channels: count, remedy: FOREIGN_REMEDY },
      'the database is not the record that DATA_DIR or Redis remember',
    );
    this.options.onForeign();
  }

  unmarked(error: unknown): void {
    this.log.warn({ err: error }, 'DATA_DIR could not be marked as used');
  }

  admitted(record: string, isSettled: boolean): void {
    this.isForeignNow = false;
    this.options.onAdmitted(record, isSettled);
  }

  raised(epoch: number, details: Readonly<Record<string, unknown>>): void {
    this.metrics.ledgerRewinds.add('epoch-raised');
    this.log.error({ ...details, epoch }, 'the ledger went back or moved: all nodes follow it');
  }

  lost(channels: readonly RememberedChannel[]): void {
    const news = this.options.onLost(channels);
    if (!this.options.isServing || news.length === 0) return;
    this.metrics.ledgerRewinds.add('channel-lost', news.length);
    const names = news.slice(0, NAMES_MAX).map(({ appRef, channel }) => `${appRef}/${channel}`);
    this.log.error({ channels: names, count: news.length }, 'the ledger has lost channels');
  }
}
