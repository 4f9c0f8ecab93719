// The exact times of the requests of busy devices: a pool of rings with places for what the device limit
// allows and a few more that are not decided yet, allocated once. Which device a ring belongs to is
// `DeviceWindows`' business.
//
// Times are milliseconds modulo 2^32; no two times in a ring are further apart than a window.

import { LIMIT } from '../contract/limit.ts';

const WINDOW_MS = LIMIT.rateWindowMs;
const NONE = -1;

export class RequestRings {
  readonly capacity: number;
  /** The owner's number of each ring. */
  readonly owner: Int32Array;
  /** Until when (not modulo anything) the owner is refused without asking anybody. */
  readonly refusedUntilMs: Float64Array;
  /** Until when (likewise) the owner lets nothing through without asking the store. */
  readonly settlesUntilMs: Float64Array;
  private readonly times: Uint32Array;
  private readonly states: Uint8Array;
  private readonly first: Uint8Array;
  private readonly counts: Uint8Array;
  private readonly isFree: Int32Array;
  private freeCount = 0;
  /** Rings from here on were never used: their pages cost no memory yet. */
  private unusedFrom = 0;

  constructor(capacity: number) {
    this.capacity = capacity;
    this.owner = new Int32Array(capacity);
    this.refusedUntilMs = new Float64Array(capacity);
    this.settlesUntilMs = new Float64Array(capacity);
    this.times = new Uint32Array(capacity * PLACES);
    this.states = new Uint8Array(capacity * PLACES);
    this.first = new Uint8Array(capacity);
    this.counts = new Uint8Array(capacity);
    this.isFree = new Int32Array(capacity);
  }

  /** Rings that have an owner. */
  get usedCount(): number {
    return this.unusedFrom - this.freeCount;
  }

  /** An empty ring for an owner, or -1 when all are taken. */
  take(owner: number): number {
    let ring = NONE;
    if (this.freeCount > 0) ring = this.isFree[--this.freeCount] as number;
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
    this.isFree[this.freeCount++] = ring;
  }

  count(ring: number): number {
    return this.counts[ring] as number;
  }

  /** Forgets what has left the window; how many remain. */
  expire(ring: number, now: number): number {
    let count = this.counts[ring] as number;
    let first = this.first[ring] as number;
    while (count > 0 && (now - (this.times[ring * PLACES + first] as number)) >>> 0 >= WINDOW_MS) {
      first = first + 1 === PLACES ? 0 : first + 1;
      count -= 1;
    }
    this.counts[ring] = count;
    this.first[ring] = first;
    return count;
  }

  /** Appends the newest; the ring must have a place. */
  push(ring: number, time: number, state: RequestState): void {
    const count = this.counts[ring] as number;
    if (count === PLACES) throw new Error('a full ring takes no request');
    const at = this.placeOf(ring, count);
    this.times[at] = time;
    this.states[at] = state;
    this.counts[ring] = count + 1;
  }

  /** The time at an index, 0 being the oldest. */
  time(ring: number, index: number): number {
    return this.times[this.placeOf(ring, index)] as number;
  }

  state(ring: number, index: number): RequestState {
    return this.states[this.placeOf(ring, index)] as RequestState;
  }

  setState(ring: number, index: number, state: RequestState): void {
    this.states[this.placeOf(ring, index)] = state;
  }

  /** The newest entry of this time and state, or -1. */
  findNewest(ring: number, time: number, state: RequestState): number {
    for (let index = this.count(ring) - 1; index >= 0; index--) {
      if (this.time(ring, index) === time && this.state(ring, index) === state) return index;
    }
    return NONE;
  }

  /** Takes one entry out; those after it move up. */
  remove(ring: number, index: number): void {
    const count = this.counts[ring] as number;
    for (let each = index; each < count - 1; each++) {
      const [to, from] = [this.placeOf(ring, each), this.placeOf(ring, each + 1)];
      this.times[to] = this.times[from] as number;
      this.states[to] = this.states[from] as number;
    }
    this.counts[ring] = count - 1;
  }

  /** Frees every ring. */
  clear(): void {
    this.freeCount = 0;
    this.unusedFrom = 0;
  }

  private placeOf(ring: number, index: number): number {
    const place = (this.first[ring] as number) + index;
    return ring * PLACES + (place >= PLACES ? place - PLACES : place);
  }
}

/** Requests that a ring has places for. */
export const PLACES = 128;

/** What the shared store knows of a request that this process has let through. */
export const KNOWN = 0;
/** Let through, but the store has not been told. */
export const OWED = 1;
/** The store is being asked; the request is not let through yet. */
export const PENDING = 2;

export type RequestState = typeof KNOWN | typeof OWED | typeof PENDING;

/** Bytes of one ring with everything kept beside it. */
export const RING_BYTES = PLACES * (4 + 1) + 2 + 4 + 4 + 8 + 8;
