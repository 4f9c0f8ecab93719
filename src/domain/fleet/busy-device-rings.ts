// Exact request times of busy devices: a pool of ring buffers, allocated once. A ring holds as many requests
// as the device limit allows, and a few that are still undecided. `SlidingWindowLimiter` knows which device
// owns a ring. Times are in milliseconds modulo 2^32; all times in one ring lie within one rate window.

import { LIMIT } from '../../contract/limit.ts';

const WINDOW_MS = LIMIT.rateWindowMs;
const NONE = -1;

export class BusyDeviceRings {
  /** Slot in `SlidingWindowLimiter` that owns each ring. */
  readonly owner: Int32Array;
  /** Time in full milliseconds (not modulo 2^32) until which the owner is refused without asking Redis. */
  readonly refusedUntilMs: Float64Array;
  /** Time in full milliseconds (not modulo 2^32) until which Redis must decide every request of the owner. */
  readonly settlesUntilMs: Float64Array;
  private readonly times: Uint32Array;
  private readonly states: Uint8Array;
  private readonly first: Uint8Array;
  private readonly counts: Uint8Array;
  private readonly freeRings: Int32Array;
  private freeCount = 0;
  /** Number of rings ever used; the memory pages of the others are untouched and cost nothing. */
  private unusedFrom = 0;

  constructor(readonly capacity: number) {
    this.owner = new Int32Array(capacity);
    this.refusedUntilMs = new Float64Array(capacity);
    this.settlesUntilMs = new Float64Array(capacity);
    this.times = new Uint32Array(capacity * RING_ENTRIES);
    this.states = new Uint8Array(capacity * RING_ENTRIES);
    this.first = new Uint8Array(capacity);
    this.counts = new Uint8Array(capacity);
    this.freeRings = new Int32Array(capacity);
  }

  /** Number of rings with an owner. */
  get usedCount(): number {
    return this.unusedFrom - this.freeCount;
  }

  /** Assigns an empty ring to an owner and returns its number, or -1 if all are in use. */
  take(owner: number): number {
    let ring = NONE;
    if (this.freeCount > 0) ring = this.freeRings[--this.freeCount] as number;
    else if (this.unusedFrom < this.capacity) ring = this.unusedFrom++;
    if (ring === NONE) return NONE;
    this.owner[ring] = owner;
    this.counts[ring] = 0;
    this.first[ring] = 0;
    this.refusedUntilMs[ring] = 0;
    this.settlesUntilMs[ring] = 0;
    return ring;
  }

  release(ring: number): void {
    this.counts[ring] = 0;
    this.freeRings[this.freeCount++] = ring;
  }

  count(ring: number): number {
    return this.counts[ring] as number;
  }

  /** Removes the times that have left the window; returns how many remain. */
  expire(ring: number, now: number): number {
    let count = this.counts[ring] as number;
    let first = this.first[ring] as number;
    while (
      count > 0 &&
      (now - (this.times[ring * RING_ENTRIES + first] as number)) >>> 0 >= WINDOW_MS
    ) {
      first = first + 1 === RING_ENTRIES ? 0 : first + 1;
      count -= 1;
    }
    this.counts[ring] = count;
    this.first[ring] = first;
    return count;
  }

  /** Appends the newest request. Throws if the ring is full; callers check `count` first. */
  push(ring: number, time: number, state: RequestState): void {
    const count = this.counts[ring] as number;
    if (count === RING_ENTRIES) throw new Error('a full ring takes no request');
    const at = this.entryOf(ring, count);
    this.times[at] = time;
    this.states[at] = state;
    this.counts[ring] = count + 1;
  }

  /** Returns the time at an index; 0 is the oldest. */
  time(ring: number, index: number): number {
    return this.times[this.entryOf(ring, index)] as number;
  }

  state(ring: number, index: number): RequestState {
    return this.states[this.entryOf(ring, index)] as RequestState;
  }

  setState(ring: number, index: number, state: RequestState): void {
    this.states[this.entryOf(ring, index)] = state;
  }

  /** Returns the index of the newest entry with this time and state, or -1. */
  findNewest(ring: number, time: number, state: RequestState): number {
    for (let index = this.count(ring) - 1; index >= 0; index--) {
      if (this.time(ring, index) === time && this.state(ring, index) === state) return index;
    }
    return NONE;
  }

  /** Builds the claim for the request of this time, with all requests that the store does not know yet. */
  claim(ring: number, time: number): Claim {
    const { times, states } = this;
    const owed: Claim['owed'][number][] = [];
    let requestSequence = 0;
    let sequence = 0;
    let before = Number.NaN;
    const count = this.count(ring);
    // A busy device has a hundred entries, mostly none of them owed: only owed ones get an id.
    for (let index = 0; index < count; index++) {
      const entry = this.entryOf(ring, index);
      const at = times[entry] as number;
      sequence = at === before ? sequence + 1 : 0;
      before = at;
      const state = states[entry];
      if (state === OWED)
        owed.push({ time: at, id: nameOf(at, sequence), ageMs: (time - at) >>> 0 });
      else if (state === PENDING && at === time) requestSequence = sequence;
    }
    return { time, requestId: nameOf(time, requestSequence), owed };
  }

  /** Removes one entry; later entries move down by one index. */
  remove(ring: number, index: number): void {
    const count = this.counts[ring] as number;
    for (let each = index; each < count - 1; each++) {
      const [to, from] = [this.entryOf(ring, each), this.entryOf(ring, each + 1)];
      this.times[to] = this.times[from] as number;
      this.states[to] = this.states[from] as number;
    }
    this.counts[ring] = count - 1;
  }

  clear(): void {
    this.freeCount = 0;
    this.unusedFrom = 0;
  }

  private entryOf(ring: number, index: number): number {
    const entry = (this.first[ring] as number) + index;
    return ring * RING_ENTRIES + (entry >= RING_ENTRIES ? entry - RING_ENTRIES : entry);
  }
}

/** What a process asks the shared store about one request; the caller passes it back with the answer. */
export type Claim = {
  readonly time: number;
  readonly requestId: string;
  readonly owed: readonly { readonly time: number; readonly id: string; readonly ageMs: number }[];
};

/**
 * Returns the claim of a request whose device has no ring: the first in its millisecond, with no earlier
 * requests that the shared store does not know yet.
 */
export function claimOf(time: number): Claim {
  return { time, requestId: nameOf(time, 0), owed: [] };
}

/**
 * Returns the id of a request: its time and its number within that millisecond. The store thereby recognises
 * a request that it is sent twice.
 */
function nameOf(time: number, sequence: number): string {
  return `${time}.${sequence}`;
}

/** Number of entries in a ring. */
export const RING_ENTRIES = 128;

/** State of an allowed request that the shared store knows. */
export const KNOWN = 0;
/** State of an allowed request that the shared store does not know yet. */
export const OWED = 1;
/** State of a request that waits for the shared store's decision. */
export const PENDING = 2;

export type RequestState = typeof KNOWN | typeof OWED | typeof PENDING;

/** Bytes of memory per ring, with its owner and deadlines. */
export const RING_BYTES = RING_ENTRIES * (4 + 1) + 2 + 4 + 4 + 8 + 8;
