// The device rate limit of one process: at most 120 requests of a device in any 60 seconds, counted exactly,
// for a million devices in fixed memory and without an allocation per request.
//
//   unknown ──▶ quiet: up to 12 exact times in a slot ──13th in a window──▶ busy: up to 120 in a ring
//      ▲                    │                                                  │
//      └──nothing in window─┴──────────────────────────────────────────────────┘
//
// The table is set-associative: the device's first hash selects a set of 8 slots, and about 60 bits of the
// two hashes tell devices apart.
//
// Guarantee for one process (`isShared` false): the decisions equal those of a log of all times, with a clock
// of whole milliseconds. Of 121 requests within a window the 121st is refused, a refused one does not count,
// and the returned wait is the time until the oldest leaves. A full table is the one exception, with one
// direction of error: it forgets requests, so more may pass; it never refuses a device below the limit. It
// reuses in this order: a slot whose requests have all left the window; among 8 slots the device with the
// fewest requests, never a busy one; among 16 rings the one with the fewest requests, never one with half the
// limit or more, and its device keeps its newest 12. So a flood of new devices passes and evicts its own
// entries, while a device that polls hard stays counted.
//
// Shared by n processes, any 60 seconds hold at most 120 + (n - 1) x 12 requests of a device, and all
// processes honour a wait that one of them returns: `shared-window.ts` has the rule and the proof.

import { LIMIT } from '../../contract/limit.ts';
import {
  BusyDeviceRings,
  type Claim,
  claimOf,
  KNOWN,
  OWED,
  PENDING,
  RING_BYTES,
  RING_ENTRIES,
} from './busy-device-rings.ts';

/**
 * Returns the index of a slot's note among the 32-bit words of all bodies. A note is two words that a caller
 * keeps with a device. It follows the counts in the device's body, so that both are in one cache line.
 */
function noteOffset(slot: number): number {
  return (slot * BODY_WORDS + LIMIT.deviceAllowancePerMinute) >> 1;
}

/** Number of 16-bit words of a body: one per exact time of a quiet device, then the note. */
const BODY_WORDS = 16;

/** Silence in milliseconds after which a device's note is dropped. */
const NOTE_SILENCE_MS = 600_000;

/** Sets a slot's note, two 32-bit words of its body, to zero; `notes` are the words of all slots' bodies. */
function clearNote(notes: Int32Array, slot: number): void {
  const at = noteOffset(slot);
  notes[at] = 0;
  notes[at + 1] = 0;
}

type SlidingWindowLimiterOptions = {
  /** Maximum number of devices counted at a time; a power of two, at least 8. */
  readonly capacity: number;
  /** Maximum number of busy devices counted exactly at a time. */
  readonly ringCapacity: number;
  /** Whether other processes serve the same devices. */
  readonly isShared: boolean;
};

/** Result of `admit`: the request is allowed. */
export const ADMITTED = 0;
/** Result of `admit`: ask the store with `claim`, then call `allowed`, `refused` or `unanswered`. */
export const MUST_SETTLE = -1;

const LIMIT_COUNT = LIMIT.deviceRequestsPerMinute;
const WINDOW_MS = LIMIT.rateWindowMs;
const SLOT_TIMES = LIMIT.deviceAllowancePerMinute;
const NONE = -1;
const WAYS = 8;

// The heads (second hash and newest time) of a set's eight slots share a cache line; the bodies lie apart.
const HEAD_WORDS = 2;
// A body is [check bits and count, 11 older times] or [check bits and IN_RING, ring low, ring high], and then
// the device's note.
const COUNT_MASK = 0xf;
const IN_RING = 0xf;

/** Bytes of memory per slot: 32 for the counts of a device, and its note. */
export const SLOT_BYTES = HEAD_WORDS * 4 + BODY_WORDS * 2;

/** Maximum delay of the store's answer in milliseconds; stores time out earlier. */
const ANSWER_MS_MAX = 1000;

const BUSY_RANK = 1000;
const RING_SAMPLE = 16;
const RING_COUNT_KEPT = LIMIT_COUNT / 2;
// Times are kept modulo 2^32 ms (49 days), so expired entries must be removed before they seem fresh.
const SWEEP_INTERVAL_MS = 2 ** 30;

export class SlidingWindowLimiter {
  /** Bytes allocated at construction; the memory pages of unused rings cost nothing until they are used. */
  readonly byteCount: number;
  private readonly isShared: boolean;
  private readonly setMask: number;
  private readonly heads: Uint32Array;
  private readonly bodies: Uint16Array;
  private readonly rings: BusyDeviceRings;
  /** Words that the caller may keep with a device; zeros if the device is new or was long silent. */
  readonly notes: Int32Array;
  /** Offset in `notes` of the device of the latest `admit`; -1 if that device is not counted. */
  latestNote = NONE;
  private ringHand = 0;
  private sweepAtMs = 0;

  constructor({ capacity, ringCapacity, isShared }: SlidingWindowLimiterOptions) {
    if (capacity < WAYS || (capacity & (capacity - 1)) !== 0) throw new Error('not a power of two');
    this.isShared = isShared;
    this.setMask = capacity / WAYS - 1;
    this.heads = new Uint32Array(capacity * HEAD_WORDS);
    this.bodies = new Uint16Array(capacity * BODY_WORDS);
    this.notes = new Int32Array(this.bodies.buffer);
    this.rings = new BusyDeviceRings(ringCapacity);
    this.byteCount = capacity * SLOT_BYTES + ringCapacity * RING_BYTES;
  }

  /** Number of devices with a ring. */
  get busyCount(): number {
    return this.rings.usedCount;
  }

  /**
   * Decides one request of the device with these two hashes (`hashText`, `secondHash`). `nowMs` is in whole
   * milliseconds and never goes back. Returns `ADMITTED`; or the milliseconds until a request would be
   * allowed, and does not count this one; or, if shared, `MUST_SETTLE`.
   */
  admit(hash: number, tag: number, nowMs: number): number {
    if (nowMs >= this.sweepAtMs) this.sweep(nowMs);
    const slot = this.find(hash, tag);
    if (slot === NONE) return this.enter(hash, tag, nowMs);
    this.latestNote = noteOffset(slot);
    return (this.body(slot, 0) & COUNT_MASK) === IN_RING
      ? this.admitBusy(slot, nowMs)
      : this.admitQuiet(slot, nowMs);
  }

  /** Builds the claim after `MUST_SETTLE`; call it in the same turn with the same `nowMs`. */
  claim(hash: number, tag: number, nowMs: number): Claim {
    const time = nowMs >>> 0;
    const ring = this.findRing(hash, tag);
    return ring === NONE ? claimOf(time) : this.rings.claim(ring, time);
  }

  /** Records that the store allowed the request. */
  allowed(hash: number, tag: number, claim: Claim, nowMs: number): void {
    const ring = this.findRing(hash, tag);
    if (ring === NONE) return;
    this.acknowledge(ring, claim, nowMs);
    const index = this.rings.findNewest(ring, claim.time, PENDING);
    if (index !== NONE) this.rings.setState(ring, index, KNOWN);
  }

  /** Records that the store refused the request, and refuses the device for `waitMs` without asking again. */
  refused(hash: number, tag: number, claim: Claim, waitMs: number, nowMs: number): void {
    const ring = this.findRing(hash, tag);
    if (ring === NONE) return;
    this.acknowledge(ring, claim, nowMs);
    this.rings.refusedUntilMs[ring] = nowMs + waitMs;
    const index = this.rings.findNewest(ring, claim.time, PENDING);
    if (index !== NONE) this.rings.remove(ring, index);
  }

  /**
   * Decides alone because the store did not answer. Returns `ADMITTED`, and reports the request to the store
   * later; or the milliseconds until a request would be allowed.
   */
  unanswered(hash: number, tag: number, claim: Claim, nowMs: number): number {
    const ring = this.findRing(hash, tag);
    if (ring === NONE) return ADMITTED;
    const now = nowMs >>> 0;
    const count = this.rings.expire(ring, now);
    const index = this.rings.findNewest(ring, claim.time, PENDING);
    if (index === NONE) return ADMITTED;
    if (count <= LIMIT_COUNT) {
      this.rings.setState(ring, index, OWED);
      return ADMITTED;
    }
    this.rings.remove(ring, index);
    const waitMs = this.waitFor(ring, now);
    this.rings.refusedUntilMs[ring] = nowMs + waitMs;
    return waitMs;
  }

  private acknowledge(ring: number, claim: Claim, nowMs: number): void {
    // Counted from the answer: the store may have decided much later than the process asked.
    this.rings.settlesUntilMs[ring] = nowMs + WINDOW_MS;
    for (const { time } of claim.owed) {
      const index = this.rings.findNewest(ring, time, OWED);
      if (index !== NONE) this.rings.setState(ring, index, KNOWN);
    }
  }

  private find(hash: number, tag: number): number {
    const from = (hash & this.setMask) * WAYS;
    const check = hash >>> 20;
    for (let slot = from; slot < from + WAYS; slot++) {
      if (this.heads[slot * HEAD_WORDS] !== tag) continue;
      const meta = this.body(slot, 0);
      if (meta >>> 4 === check && (meta & COUNT_MASK) !== 0) return slot;
    }
    return NONE;
  }

  private findRing(hash: number, tag: number): number {
    const slot = this.find(hash, tag);
    if (slot === NONE || (this.body(slot, 0) & COUNT_MASK) !== IN_RING) return NONE;
    return this.ringOf(slot);
  }

  private admitQuiet(slot: number, nowMs: number): number {
    const now = nowMs >>> 0;
    const newest = this.newest(slot);
    const idle = (now - newest) >>> 0;
    if (idle >= WINDOW_MS) {
      if (idle >= NOTE_SILENCE_MS) clearNote(this.notes, slot);
      this.setCount(slot, 1);
      this.setNewest(slot, now);
      return ADMITTED;
    }
    const count = this.body(slot, 0) & COUNT_MASK;
    let gone = this.countGone(slot, count, now);
    if (count - gone === SLOT_TIMES) {
      if (this.makeBusy(slot, nowMs)) return this.admitBusy(slot, nowMs);
      // All rings are in use: the slot keeps its newest times, an error in the device's favour.
      gone = 1;
    }
    this.append(slot, count, gone, now);
    return ADMITTED;
  }

  /** Returns how many of the oldest times in a slot have left the window; the newest must still be inside. */
  private countGone(slot: number, count: number, now: number): number {
    const newest = this.newest(slot);
    const idle = (now - newest) >>> 0;
    let gone = 0;
    while (gone < count - 1 && idle + this.backOf(slot, gone, newest) >= WINDOW_MS) gone += 1;
    return gone;
  }

  /** Returns the milliseconds from an older time to the newest; less than a window, so 16 bits suffice. */
  private backOf(slot: number, index: number, newest: number): number {
    return (newest - this.body(slot, 1 + index)) & 0xffff;
  }

  private append(slot: number, count: number, gone: number, now: number): void {
    const at = slot * BODY_WORDS + 1;
    const older = count - 1 - gone;
    if (gone > 0) this.bodies.copyWithin(at, at + gone, at + gone + older);
    this.bodies[at + older] = this.newest(slot);
    this.setCount(slot, older + 2);
    this.setNewest(slot, now);
  }

  /** Moves a slot's times into a ring; returns false if no ring is available. */
  private makeBusy(slot: number, nowMs: number): boolean {
    const ring = this.takeRing(slot, nowMs);
    if (ring === NONE) return false;
    const newest = this.newest(slot);
    const count = this.body(slot, 0) & COUNT_MASK;
    for (let index = 0; index < count - 1; index++) {
      this.rings.push(ring, (newest - this.backOf(slot, index, newest)) >>> 0, OWED);
    }
    this.rings.push(ring, newest, OWED);
    this.setCount(slot, IN_RING);
    this.setBody(slot, 1, ring & 0xffff);
    this.setBody(slot, 2, ring >>> 16);
    return true;
  }

  private admitBusy(slot: number, nowMs: number): number {
    const now = nowMs >>> 0;
    const ring = this.ringOf(slot);
    const count = this.rings.expire(ring, now);
    const refusedUntilMs = this.rings.refusedUntilMs[ring] as number;
    if (refusedUntilMs > nowMs) return Math.ceil(refusedUntilMs - nowMs);
    if (count === 0 && this.isIdle(ring, nowMs)) {
      this.rings.release(ring);
      this.setCount(slot, 1);
      this.setNewest(slot, now);
      return ADMITTED;
    }
    if (!this.isShared) {
      if (count >= LIMIT_COUNT) return this.waitFor(ring, now);
      this.rings.push(ring, now, KNOWN);
      return ADMITTED;
    }
    // Asks the store even if this process has reached the limit, because all processes honour only a wait
    // that the store returns. A ring full of undecided requests asks no more; its own estimate may be early
    // by one answer.
    if (count === RING_ENTRIES) return this.waitFor(ring, now) + ANSWER_MS_MAX;
    this.rings.push(ring, now, PENDING);
    return MUST_SETTLE;
  }

  /** Returns the milliseconds until fewer requests than the limit remain of those now in a ring. */
  private waitFor(ring: number, now: number): number {
    const index = this.rings.count(ring) - LIMIT_COUNT;
    return WINDOW_MS - ((now - this.rings.time(ring, index)) >>> 0);
  }

  /** Returns whether the device of an empty ring counts as quiet again. */
  private isIdle(ring: number, nowMs: number): boolean {
    return (this.rings.settlesUntilMs[ring] as number) <= nowMs;
  }

  /** Counts the first request of a device, or its first after the table evicted it. */
  private enter(hash: number, tag: number, nowMs: number): number {
    const from = (hash & this.setMask) * WAYS;
    let [victim, victimRank, victimIdle] = [from, BUSY_RANK, 0];
    for (let slot = from; slot < from + WAYS && victimRank > 0; slot++) {
      const rank = this.rankOf(slot, nowMs);
      const idle = ((nowMs >>> 0) - this.newest(slot)) >>> 0;
      if (rank > victimRank || (rank === victimRank && idle <= victimIdle)) continue;
      [victim, victimRank, victimIdle] = [slot, rank, idle];
    }
    // All eight slots of the set hold busy devices: the table leaves the new device uncounted.
    this.latestNote = NONE;
    if (victimRank >= BUSY_RANK) return ADMITTED;
    if ((this.body(victim, 0) & COUNT_MASK) === IN_RING) this.rings.release(this.ringOf(victim));
    this.heads[victim * HEAD_WORDS] = tag;
    this.setNewest(victim, nowMs >>> 0);
    this.setBody(victim, 0, ((hash >>> 20) << 4) | 1);
    clearNote(this.notes, victim);
    this.latestNote = noteOffset(victim);
    return ADMITTED;
  }

  /** Returns the cost of evicting a slot: 0 if empty or expired, `BUSY_RANK` if busy, else its count. */
  private rankOf(slot: number, nowMs: number): number {
    const count = this.body(slot, 0) & COUNT_MASK;
    if (count === 0) return 0;
    const now = nowMs >>> 0;
    if (count === IN_RING) {
      const ring = this.ringOf(slot);
      return this.rings.expire(ring, now) === 0 && this.isIdle(ring, nowMs) ? 0 : BUSY_RANK;
    }
    if ((now - this.newest(slot)) >>> 0 >= WINDOW_MS) return 0;
    return count - this.countGone(slot, count, now);
  }

  /** Returns a free ring, or one taken from a device with few requests; -1 if there is neither. */
  private takeRing(slot: number, nowMs: number): number {
    const free = this.rings.take(slot);
    if (free !== NONE || this.rings.capacity === 0) return free;
    let [victim, fewest] = [NONE, RING_COUNT_KEPT];
    for (let tries = 0; tries < RING_SAMPLE && fewest > 0; tries++) {
      const ring = this.ringHand;
      this.ringHand = ring + 1 === this.rings.capacity ? 0 : ring + 1;
      const count = this.rings.expire(ring, nowMs >>> 0);
      const isHeld = (this.rings.refusedUntilMs[ring] as number) > nowMs;
      const worth = isHeld ? LIMIT_COUNT : count;
      if (worth < fewest) [victim, fewest] = [ring, worth];
    }
    if (victim === NONE) return NONE;
    this.makeQuiet(victim);
    return this.rings.take(slot);
  }

  /** Takes the ring from a device, which keeps its newest times in its slot. */
  private makeQuiet(ring: number): void {
    const slot = this.rings.owner[ring] as number;
    const count = this.rings.count(ring);
    const kept = Math.min(count, SLOT_TIMES);
    this.setCount(slot, kept);
    for (let index = 0; index < kept - 1; index++) {
      this.setBody(slot, 1 + index, this.rings.time(ring, count - kept + index) & 0xffff);
    }
    if (kept > 0) this.setNewest(slot, this.rings.time(ring, count - 1));
    this.rings.release(ring);
  }

  /** Frees expired slots and rings; all of them after a silence too long for times modulo 2^32. */
  private sweep(nowMs: number): void {
    const { sweepAtMs } = this;
    this.sweepAtMs = nowMs + SWEEP_INTERVAL_MS;
    if (sweepAtMs === 0) return;
    const isAllStale = nowMs - sweepAtMs >= SWEEP_INTERVAL_MS;
    if (isAllStale) this.rings.clear();
    const slots = (this.setMask + 1) * WAYS;
    for (let slot = 0; slot < slots; slot++) {
      const meta = this.body(slot, 0);
      if ((meta & COUNT_MASK) === 0 || (!isAllStale && this.rankOf(slot, nowMs) > 0)) continue;
      if (!isAllStale && (meta & COUNT_MASK) === IN_RING) this.rings.release(this.ringOf(slot));
      this.setCount(slot, 0);
    }
  }

  private body(slot: number, word: number): number {
    return this.bodies[slot * BODY_WORDS + word] as number;
  }

  private setBody(slot: number, word: number, value: number): void {
    this.bodies[slot * BODY_WORDS + word] = value;
  }

  private setCount(slot: number, count: number): void {
    this.setBody(slot, 0, (this.body(slot, 0) & ~COUNT_MASK) | count);
  }

  private newest(slot: number): number {
    return this.heads[slot * HEAD_WORDS + 1] as number;
  }

  private setNewest(slot: number, time: number): void {
    this.heads[slot * HEAD_WORDS + 1] = time;
  }

  private ringOf(slot: number): number {
    return this.body(slot, 1) | (this.body(slot, 2) << 16);
  }
}
