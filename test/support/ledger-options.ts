// Memory and report of ledgers that tests open: nothing is remembered unless a test says so, and what the
// ledger reports is kept.

import type {
  ForeignFault,
  LedgerMemory,
  LedgerReport,
  RememberedChannel,
} from '../../src/store/ledger-identity.ts';

/**
 * What lives on outside of a ledger, all of it in the engine; a test changes it at any time. `ownRecord` is
 * the name that the node itself remembers.
 */
export class TestMemory implements LedgerMemory {
  remembered: RememberedChannel[] = [];
  isComplete = true;
  highestEpoch = 0;
  ownRecord: string | undefined;
  sharedRecord: string | undefined;

  async own() {
    return { record: this.ownRecord, channels: [] };
  }

  async shared() {
    return this.isComplete ? { record: this.sharedRecord, channels: this.remembered } : undefined;
  }

  /** Remembers channels by their ids. */
  remember(...channelIds: string[]): this {
    this.remembered = channelIds.map((channelId) => ({
      channelId,
      appRef: `app-of-${channelId}`,
      channel: 'stable',
    }));
    return this;
  }
}

/** Everything that a ledger has reported. */
export class KeptReport implements LedgerReport {
  readonly faults: unknown[] = [];
  readonly refusals: unknown[] = [];
  readonly foreignCounts: number[] = [];
  readonly epochs: number[] = [];
  readonly lostIds: string[] = [];
  /** Names of the records that were admitted. */
  readonly records: string[] = [];

  fault(error: unknown): void {
    this.faults.push(error);
  }

  refused(error: unknown): void {
    this.refusals.push(error);
  }

  foreign({ count }: ForeignFault): void {
    this.foreignCounts.push(count);
  }

  unmarked(): void {}

  admitted(record: string): void {
    this.records.push(record);
  }

  raised(epoch: number): void {
    this.epochs.push(epoch);
  }

  lost(channels: readonly RememberedChannel[]): void {
    this.lostIds.push(...channels.map(({ channelId }) => channelId));
  }
}

/** Memory and report for a ledger of which a test asks neither. */
export function ledgerOptions(): { readonly memory: TestMemory; readonly report: KeptReport } {
  return { memory: new TestMemory(), report: new KeptReport() };
}
