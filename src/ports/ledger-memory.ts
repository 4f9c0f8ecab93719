// What lives on outside of the ledger of the channels that it had: on this node's disk, in the engine and in
// this process. A database that knows none of them is not the one that had them.

/** Channel that was read from the ledger once. */
export type RememberedChannel = {
  readonly channelId: string;
  readonly appRef: string;
  readonly channel: string;
};

export interface LedgerMemory {
  /**
   * Lists the remembered channels. `isComplete` is false when a store did not answer, which may remember
   * more. Never rejects.
   */
  channels(): Promise<{
    readonly channels: readonly RememberedChannel[];
    readonly isComplete: boolean;
  }>;

  /** Highest epoch of a state that this process has held. */
  readonly highestEpoch: number;
}
