// The part of the engine that check-ins wait in between the node that answered them and the ledger. Every
// method rejects with `Unavailable` when the engine does not answer.

import type { CheckIn } from '../domain/check-in.ts';
import type { CheckInPack } from '../domain/check-in-pack.ts';

/** Check-ins that were appended together. `id` is what they are acknowledged by. */
export type CheckInBatch = { readonly id: string; readonly checkIns: readonly CheckIn[] };

export interface CheckInQueue {
  /**
   * Accepts a batch: from then on it reaches whoever takes check-ins, at least once, whatever process dies.
   * `full` when the queue is at its bound: nothing of the batch was accepted. After a rejection it is
   * unknown whether it was; appending it again does no harm. The batch must not change before the answer, and
   * may change afterwards: what is kept of it is a copy.
   */
  appendCheckIns(checkIns: CheckInPack): Promise<'accepted' | 'full'>;

  /**
   * Takes up to `batchesMax` batches that nobody has taken, or that a taker left unacknowledged for longer
   * than `abandonedMs`: oldest first. Waits up to `waitMs` for the first. `taker` names the caller and is
   * its own among all nodes; takers share the work.
   */
  takeCheckIns(
    taker: string,
    batchesMax: number,
    waitMs: number,
    abandonedMs: number,
  ): Promise<readonly CheckInBatch[]>;

  /** Removes batches for good: what was in them is in the ledger. */
  acknowledgeCheckIns(ids: readonly string[]): Promise<void>;

  /** How many batches wait, taken or not. */
  countCheckIns(): Promise<number>;
}
