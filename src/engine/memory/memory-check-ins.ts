// The queue of check-ins of a single process. It ends with the process, so the service empties it before it
// stops. `CheckInQueue` states the obligations.
//
//   waiting ──take──▶ taken ──acknowledge──▶ gone
//                       └──abandoned──▶ taken by another, or by the same again
//
// As with Redis, a consumer does not get a batch again that it has taken, unless it has held the batch for so
// long that it counts as abandoned.

import { type CheckInPack, unpackCheckIns } from '../../packing/check-in-pack.ts';
import type { CheckInBatch, CheckInQueue } from '../../ports/check-in-queue.ts';

/** Maximum number of batches in the queue; a busy process's batch has about 100 kB. */
const BATCHES_MAX = 5000;

type MemoryCheckIns = {
  readonly queue: CheckInQueue;
  /** Empties the queue and ends all waits; call it after `assertOpen` has begun to throw. */
  close(): void;
};

/** `now` in milliseconds that never go back; `assertOpen` throws when the engine is closed. */
export function createMemoryCheckIns(now: () => number, assertOpen: () => void): MemoryCheckIns {
  const batches = new Batches(now);
  const sleepers = new Sleepers();

  const queue: CheckInQueue = {
    async appendCheckIns(checkIns) {
      assertOpen();
      if (batches.size >= BATCHES_MAX) return 'full';
      batches.append(checkIns);
      sleepers.wakeAll();
      return 'accepted';
    },

    async takeCheckIns(_taker, batchesMax, waitMs, abandonedMs) {
      const deadline = now() + waitMs;
      for (;;) {
        assertOpen();
        const taken = batches.take(batchesMax, abandonedMs);
        const leftMs = deadline - now();
        if (taken.length > 0 || leftMs <= 0) return taken;
        await sleepers.sleep(Math.min(leftMs, batches.msUntilAbandoned(abandonedMs)));
      }
    },

    async acknowledgeCheckIns(ids) {
      assertOpen();
      for (const id of ids) batches.remove(id);
    },

    async countCheckIns() {
      assertOpen();
      return batches.size;
    },
  };
  return {
    queue,
    close() {
      batches.clear();
      sleepers.wakeAll();
    },
  };
}

type Taken = { readonly batch: CheckInBatch; readonly number: number; takenAt: number };

/**
 * Waiting batches, and taken ones with the time they were taken. Batches are numbered in order of arrival.
 */
class Batches {
  private readonly now: () => number;
  private readonly waiting = new Map<number, CheckInPack>();
  private readonly taken = new Map<string, Taken>();
  private lastNumber = 0;

  constructor(now: () => number) {
    this.now = now;
  }

  get size(): number {
    return this.waiting.size + this.taken.size;
  }

  append(checkIns: CheckInPack): void {
    this.lastNumber += 1;
    const [rows, networks] = [checkIns.rows.slice(), checkIns.networks.slice()];
    this.waiting.set(this.lastNumber, { ...checkIns, rows, networks });
  }

  /** Takes the oldest batches: abandoned ones first, because they are older than all waiting ones. */
  take(batchesMax: number, abandonedMs: number): CheckInBatch[] {
    const takenAt = this.now();
    const abandoned = [...this.taken.values()]
      .filter((each) => takenAt - each.takenAt >= abandonedMs)
      .sort((left, right) => left.number - right.number)
      .slice(0, batchesMax);
    for (const each of abandoned) each.takenAt = takenAt;
    const batches = abandoned.map(({ batch }) => batch);
    for (const [number, checkIns] of this.waiting) {
      if (batches.length >= batchesMax) break;
      const batch = { id: String(number), checkIns: unpackCheckIns(checkIns) };
      this.waiting.delete(number);
      this.taken.set(batch.id, { batch, number, takenAt });
      batches.push(batch);
    }
    return batches;
  }

  /** Milliseconds until the next taken batch counts as abandoned; Infinity when none is taken. */
  msUntilAbandoned(abandonedMs: number): number {
    let earliest = Number.POSITIVE_INFINITY;
    for (const { takenAt } of this.taken.values()) earliest = Math.min(earliest, takenAt);
    return earliest + abandonedMs - this.now();
  }

  remove(id: string): void {
    this.taken.delete(id);
  }

  clear(): void {
    this.waiting.clear();
    this.taken.clear();
  }
}

/** Waits that end after a time or when they are woken. */
class Sleepers {
  private readonly wakers = new Set<() => void>();

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.wakers.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      this.wakers.add(wake);
    });
  }

  wakeAll(): void {
    for (const wake of this.wakers) wake();
  }
}
