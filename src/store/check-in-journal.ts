// Check-ins of an edge on their way to its upstream: batches as bytes, in the order in which they came, which
// survive the process. What was not acknowledged is delivered again after a restart; nothing is lost by that,
// because recording a check-in twice changes nothing.

export interface CheckInJournal {
  /**
   * Appends a batch. Once it resolves with `accepted`, the batch is on disk. `full` when the journal is at
   * its bound, and nothing of the batch was accepted. Rejects with `Unavailable` when the disk does not take
   * it.
   */
  append(batch: Buffer): Promise<'accepted' | 'full'>;

  /**
   * Reads the oldest batches that are not acknowledged: at least one, if there is one, and no more than about
   * `bytesMax` bytes. The same ones until they are acknowledged.
   */
  read(bytesMax: number): Promise<readonly Buffer[]>;

  /** Removes as many batches, the oldest, which were read before. */
  acknowledge(count: number): Promise<void>;

  /** Resolves once there may be a batch to read, or after `ms`. */
  appended(ms: number, signal: AbortSignal): Promise<void>;

  /** Number of batches that are not acknowledged. */
  readonly count: number;

  /** Bytes on disk that are not acknowledged. */
  readonly bytes: number;

  /** Milliseconds since the oldest batch that is not acknowledged was appended; 0 when there is none. */
  readonly ageMs: number;

  /** Waits for what is being appended, and closes the files. */
  close(): Promise<void>;
}
