// Identity of the ledger's database: how a node tells the record from any other database, and what it
// reports.

import type { Outcome } from '../contract/failure.ts';

/** A database that is not the record. */
export type ForeignFault = {
  /** What is wrong, in the words of `store-fault.ts`. */
  readonly message: string;
  /** Number of remembered channels. */
  readonly count: number;
  /** What to do, where that is known. */
  readonly remedy: string | undefined;
};

export interface LedgerReport {
  /** The database could not be reached. */
  fault(error: unknown): void;

  /**
   * The database answered but cannot be used: it refused the login, does not exist, or has a newer schema.
   * The node goes on trying.
   */
  refused(error: unknown): void;

  /** The database is not the record that is remembered. */
  foreign(fault: ForeignFault): void;

  /** The data directory could not be marked as used. */
  unmarked(error: unknown): void;

  /**
   * The database is the record of this name, and calls are answered from now on. `isSettled` is false while
   * another store may still remember a different record.
   */
  admitted(record: string, isSettled: boolean): void;

  /** The epoch was raised, because the ledger went back or may have; `details` give the evidence. */
  raised(epoch: number, details: Readonly<Record<string, unknown>>): void;

  /** The database is the record but lacks these remembered channels; they are unknown from now on. */
  lost(channels: readonly RememberedChannel[]): void;
}

// What is remembered outside the ledger: the name of the record and its channels. With it a node judges
// whether a database is the record.

/** Channel that this node, or another one, has read from the ledger. */
export type RememberedChannel = {
  readonly channelId: string;
  readonly appRef: string;
  readonly channel: string;
};

/** Content of one memory: that of this node, or of the engine. */
export type RememberedRecord = {
  /** Name of the record; undefined if unknown. */
  readonly record: string | undefined;
  readonly channels: readonly RememberedChannel[];
};

export interface LedgerMemory {
  /** Returns what this node remembers in the process and on its disk. Never rejects. */
  own(): Promise<RememberedRecord>;

  /** Returns what the engine remembers for all nodes; undefined when it does not answer. Never rejects. */
  shared(): Promise<RememberedRecord | undefined>;

  /** Highest epoch of all channel states that this process has loaded. */
  readonly highestEpoch: number;
}

export interface LedgerCopies {
  /**
   * Makes a consistent copy of the embedded ledger and its secrets in a directory that only the service's
   * account may enter; resolves with its absolute path. The caller removes it. Calls of the ledger wait
   * during the copy.
   */
  make(): Promise<Outcome<{ readonly directory: string }>>;
}
