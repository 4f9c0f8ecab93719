// The part of the engine that queues check-ins between the nodes that received them and the ledger. Every
// method rejects with `Unavailable` when the engine does not answer.

import type { CheckIn } from '../domain/fleet/check-in.ts';
import type { CheckInPack } from '../domain/fleet/check-in-pack.ts';

/** Check-ins that were appended together; `id` identifies the batch in `acknowledgeCheckIns`. */
export type CheckInBatch = { readonly id: string; readonly checkIns: readonly CheckIn[] };

export interface CheckInQueue {
  /** Number of streams, a power of two. The check-ins of a device go into one stream. */
  readonly streams: number;

  /**
   * Appends a batch to a stream, the first unless another is named. Once accepted, it is delivered to a
   * consumer at least once, whichever process dies. Returns `full` when the queue is at its bound, a number
   * of bytes, and nothing of the batch was accepted. After a rejection it is unknown whether the batch was
   * accepted; appending it again is harmless. The batch must not change before the answer; the queue keeps a
   * copy.
   */
  appendCheckIns(checkIns: CheckInPack, stream?: number): Promise<'accepted' | 'full'>;

  /**
   * Tells that a taker lives; it is forgotten when it has not told so for three seconds. Returns the names of
   * all that live, itself included, in an order that all of them find.
   */
  shareCheckIns(taker: string): Promise<readonly string[]>;

  /** Tells that a taker takes no more. */
  leaveCheckIns(taker: string): Promise<void>;

  /**
   * Takes up to `batchesMax` batches of the streams (all unless some are named), the oldest of each first:
   * ones that were never taken, and ones that a consumer left unacknowledged for longer than `abandonedMs`.
   * Waits up to `waitMs` for the first. `taker` names the consumer, uniquely among all nodes; consumers of
   * one stream share the work.
   */
  takeCheckIns(
    taker: string,
    batchesMax: number,
    waitMs: number,
    abandonedMs: number,
    streams?: readonly number[],
  ): Promise<readonly CheckInBatch[]>;

  /** Deletes batches whose check-ins are recorded in the ledger. */
  acknowledgeCheckIns(ids: readonly string[]): Promise<void>;

  /** Returns the number of batches in the queue, taken ones included. */
  countCheckIns(): Promise<number>;

  /**
   * Returns the age in milliseconds of the oldest batch in the queue, taken ones included; 0 when it is
   * empty. What was appended before that is acknowledged.
   */
  ageOfCheckIns(): Promise<number>;

  /**
   * Returns the bytes that count against the queue's bound: at least those of the batches in it. Batches
   * acknowledged before an older one may count until that is.
   */
  weighCheckIns(): Promise<number>;
}

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
