// The check-in queue of a single process, which the service empties before it stops.
//
//   waiting ──take──▶ taken ──acknowledge──▶ gone
//                       └──abandoned──▶ taken by another, or by the same again
//
// As with Redis, a consumer gets a batch again only when it counts as abandoned.

import { type CheckInPack, packBytes, unpackCheckIns } from '../../domain/fleet/check-in-pack.ts';
import type { CheckInBatch, CheckInQueue } from '../check-in-queue.ts';

/** Creates a queue of `bytesMax`; `now` is monotonic milliseconds, `assertOpen` throws if closed. */
export function createMemoryCheckIns(now: () => number, bytesMax: number, assertOpen: () => void) {
  const batches = new Batches(now);
  const sleepers = new Sleepers();

  const queue: CheckInQueue = {
    streams: 1,

    async shareCheckIns(taker) {
      assertOpen();
      return [taker];
    },

    async leaveCheckIns() {
      assertOpen();
    },

    async appendCheckIns(checkIns) {
      assertOpen();
      if (batches.bytes >= bytesMax) return 'full';
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

    async ageOfCheckIns() {
      assertOpen();
      return batches.ageMs;
    },

    nameRegion: async () => undefined,

    async weighCheckIns() {
      assertOpen();
      return batches.bytes;
    },
  };
  return {
    queue,
    /** Empties the queue and ends all waits. Call it when `assertOpen` already throws. */
    close() {
      batches.clear();
      sleepers.wakeAll();
    },
  };
}

type Waiting = { readonly pack: CheckInPack; readonly bytes: number; readonly appendedAt: number };
type Taken = Omit<Waiting, 'pack'> & {
  readonly batch: CheckInBatch;
  readonly number: number;
  takenAt: number;
};

/** Waiting and taken batches, numbered in order of arrival. */
class Batches {
  private readonly waiting = new Map<number, Waiting>();
  private readonly taken = new Map<string, Taken>();
  private lastNumber = 0;
  private bytesInAll = 0;

  constructor(private readonly now: () => number) {}

  get size(): number {
    return this.waiting.size + this.taken.size;
  }

  get bytes(): number {
    return this.bytesInAll;
  }

  /** Milliseconds since the oldest batch was appended; 0 when there is none. */
  get ageMs(): number {
    const now = this.now();
    let oldest = now;
    for (const { appendedAt } of this.taken.values()) oldest = Math.min(oldest, appendedAt);
    // The first waiting batch is the oldest one.
    for (const { appendedAt } of this.waiting.values()) {
      oldest = Math.min(oldest, appendedAt);
      break;
    }
    return now - oldest;
  }

  append(checkIns: CheckInPack): void {
    this.lastNumber += 1;
    const [rows, networks] = [checkIns.rows.slice(), checkIns.networks.slice()];
    const bytes = packBytes(checkIns);
    this.bytesInAll += bytes;
    const pack = { ...checkIns, rows, networks };
    this.waiting.set(this.lastNumber, { pack, bytes, appendedAt: this.now() });
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
    for (const [number, { pack, ...rest }] of this.waiting) {
      if (batches.length >= batchesMax) break;
      const batch = { id: String(number), checkIns: unpackCheckIns(pack) };
      this.waiting.delete(number);
      this.taken.set(batch.id, { batch, number, ...rest, takenAt });
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
    this.bytesInAll -= this.taken.get(id)?.bytes ?? 0;
    this.taken.delete(id);
  }

  clear(): void {
    this.bytesInAll = 0;
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
