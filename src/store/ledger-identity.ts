// What tells whether a database is the record: its identity, and what other places remember of its
// channels.

import type { Outcome } from '../contract/failure.ts';

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

// What lives on outside of the ledger of the record that it holds: the record's name, and the channels that
// it had. It tells the database that is the record from any other one.

/** Channel that was read from the ledger once. */
export type RememberedChannel = {
  readonly channelId: string;
  readonly appRef: string;
  readonly channel: string;
};

/** What is remembered in one place. */
export type RememberedRecord = {
  /** Name of the record; undefined where none was noted. */
  readonly record: string | undefined;
  readonly channels: readonly RememberedChannel[];
};

export interface LedgerMemory {
  /** Returns what this node remembers by itself: in this process, and on its disk. Never rejects. */
  own(): Promise<RememberedRecord>;

  /**
   * Returns what the engine keeps for all nodes, whoever they are; undefined when it does not answer. Never
   * rejects.
   */
  shared(): Promise<RememberedRecord | undefined>;

  /** Highest epoch of a state that this process has held. */
  readonly highestEpoch: number;
}

// Port of the copies that an operator takes of a ledger while it is used.

export interface LedgerCopies {
  /**
   * Makes a consistent copy of the embedded ledger, with the secrets that belong to it, in a directory that
   * only the account of the service may enter; resolves with its absolute path. Who asked removes it. Calls
   * of the ledger wait meanwhile.
   */
  make(): Promise<Outcome<{ readonly directory: string }, 'notEmbedded' | 'backupRunning'>>;
}
