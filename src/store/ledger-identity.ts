// What the ledger tells about its database, for the log and the figures.

import type { RememberedChannel } from './ledger-memory.ts';

export interface LedgerReport {
  /** The database could not be reached. */
  fault(error: unknown): void;

  /**
   * The database answered and cannot be used: a refused login, no such database, a newer schema. It is tried
   * again all the same.
   */
  refused(error: unknown): void;

  /** The database is not the record that is remembered, with `count` channels. */
  foreign(count: number): void;

  /** The data directory could not be marked as used. */
  unmarked(error: unknown): void;

  /**
   * The database is the record of this name, and its calls are answered from now on. `isSettled` is false
   * while a store may still remember another one.
   */
  admitted(record: string, isSettled: boolean): void;

  /** The epoch was raised, because the ledger went back or may have; `details` say what showed it. */
  raised(epoch: number, details: Readonly<Record<string, unknown>>): void;

  /** The database is the record, and lacks these remembered channels: they are unknown from now on. */
  lost(channels: readonly RememberedChannel[]): void;
}
