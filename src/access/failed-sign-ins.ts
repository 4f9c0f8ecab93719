// Failed sign-ins of accounts on their way to the audit: noted when they happen and written a little later,
// off the request's path, so that the answer takes no longer for an address that has an account than for one
// that has none. Failures of one account are written together, and the ledger tells the audit of them at most
// once an hour: whoever tries passwords cannot fill the database. Failures of addresses without an account
// are counted in the metrics only.

import type { RareLog } from '../observe/rare-log.ts';
import type { FailedSignIn } from '../store/account-ledger.ts';
import type { Ledger } from '../store/ledger.ts';

const DELAY_MS = 1000;
const ACCOUNTS_MAX = 1000;

export class FailedSignIns {
  private readonly ledger: Pick<Ledger, 'recordFailedSignIns'>;
  private readonly log: RareLog;
  /** Failures that are not written yet, by the account's id. */
  private pending = new Map<string, FailedSignIn>();
  private isScheduled = false;

  constructor(ledger: Pick<Ledger, 'recordFailedSignIns'>, log: RareLog) {
    this.ledger = ledger;
    this.log = log;
  }

  /** Notes that somebody at this address has tried a wrong password. */
  note(account: FailedSignIn['account'], address: string): void {
    const known = this.pending.get(account.id);
    if (known === undefined && this.pending.size >= ACCOUNTS_MAX) return;
    const { id, email } = account;
    const failures = (known?.failures ?? 0) + 1;
    this.pending.set(id, { account: { id, email }, failures, address });
    this.schedule();
  }

  /** Writes once, a little later. A process that stops before loses a second's failures. */
  private schedule(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    setTimeout(() => void this.write(), DELAY_MS).unref();
  }

  private async write(): Promise<void> {
    const all = this.pending;
    this.pending = new Map();
    try {
      for (const failed of all.values()) await this.ledger.recordFailedSignIns(failed);
    } catch (error) {
      this.log.warn({ err: error }, 'failed sign-ins could not be recorded');
    }
    this.isScheduled = false;
    if (this.pending.size > 0) this.schedule();
  }
}
