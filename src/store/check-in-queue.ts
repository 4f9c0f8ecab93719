// The part of the engine that queues check-ins on their way from the receiving nodes to the ledger. Every
// method rejects with `Unavailable` when the engine does not answer.

import type { CheckIn } from '../domain/fleet/check-in.ts';
import type { CheckInPack } from '../domain/fleet/check-in-pack.ts';

/** Check-ins that were appended together; `id` identifies the batch in `acknowledgeCheckIns`. */
export type CheckInBatch = { readonly id: string; readonly checkIns: readonly CheckIn[] };

export interface CheckInQueue {
  /** Number of streams, a power of two. The check-ins of a device go into one stream. */
  readonly streams: number;

  /**
   * Appends a batch to a stream (default: the first). An accepted batch is delivered to a consumer at least
   * once, even if processes die. Returns `full`, and stores nothing, when the queue is at its limit in bytes.
   * After a rejection the batch may or may not be in the queue; appending it again is harmless. The caller
   * must not change the batch before the answer; the queue keeps a copy.
   */
  appendCheckIns(checkIns: CheckInPack, stream?: number): Promise<'accepted' | 'full'>;

  /**
   * Registers a consumer as alive for three seconds. Returns the names of all live consumers, itself
   * included, in an order that is the same for all of them.
   */
  shareCheckIns(taker: string): Promise<readonly string[]>;

  /** Removes a consumer from the live ones. */
  leaveCheckIns(taker: string): Promise<void>;

  /**
   * Takes up to `batchesMax` batches of the given streams (default: all), the oldest of each first: batches
   * that were never taken, and batches that a consumer left unacknowledged for longer than `abandonedMs`.
   * Waits up to `waitMs` for the first. `taker` is the consumer's name, unique among all nodes; consumers of
   * one stream share its batches.
   */
  takeCheckIns(
    taker: string,
    batchesMax: number,
    waitMs: number,
    abandonedMs: number,
    streams?: readonly number[],
  ): Promise<readonly CheckInBatch[]>;

  /** Deletes batches, once the ledger has recorded their check-ins. */
  acknowledgeCheckIns(ids: readonly string[]): Promise<void>;

  /** Returns the number of batches in the queue, taken ones included. */
  countCheckIns(): Promise<number>;

  /**
   * Returns the age in milliseconds of the oldest unacknowledged batch; 0 when there is none. Every batch
   * older than that is acknowledged.
   */
  ageOfCheckIns(): Promise<number>;

  /**
   * Returns the name of the region whose nodes share the queue; undefined for a queue of one process, which
   * ends with it. The name stays the same while the queue exists or one of these nodes runs.
   */
  nameRegion(): Promise<string | undefined>;

  /**
   * Returns the bytes that count against the queue's limit. An acknowledged batch may still count until all
   * older ones are acknowledged.
   */
  weighCheckIns(): Promise<number>;
}

// Check-ins of an edge on their way to its upstream: a queue of batches on disk, in order of arrival. After a
// restart, the edge sends unacknowledged batches again; recording a check-in twice changes nothing.

export interface CheckInJournal {
  /**
   * Appends a batch; `accepted` means that it is on disk. Returns `full`, and stores nothing, when the
   * journal is at its limit. Rejects with `Unavailable` when the disk refuses the write.
   */
  append(batch: Buffer): Promise<'accepted' | 'full'>;

  /**
   * Reads the oldest unacknowledged batches: at least one if there is one, and about `bytesMax` bytes at
   * most. Returns the same batches until they are acknowledged.
   */
  read(bytesMax: number): Promise<readonly Buffer[]>;

  /** Removes the `count` oldest batches. */
  acknowledge(count: number): Promise<void>;

  /** Resolves when there may be a batch to read, or after `ms`. */
  appended(ms: number, signal: AbortSignal): Promise<void>;

  /** Number of unacknowledged batches. */
  readonly count: number;

  /** Bytes of the unacknowledged batches on disk. */
  readonly bytes: number;

  /** Age in milliseconds of the oldest unacknowledged batch; 0 when there is none. */
  readonly ageMs: number;

  /** Finishes the pending appends, then closes the files. */
  close(): Promise<void>;
}
