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
