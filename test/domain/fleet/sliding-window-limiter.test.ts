// Tests that one process counts its devices exactly: the table against a plain log of all times.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LIMIT } from '../../../src/contract/limit.ts';
import { hashText } from '../../../src/domain/decision/cohort.ts';
import { secondHash } from '../../../src/domain/decision/hashes.ts';
import {
  ADMITTED,
  SLOT_BYTES,
  SlidingWindowLimiter,
} from '../../../src/domain/fleet/sliding-window-limiter.ts';

const WINDOW_MS = LIMIT.rateWindowMs;
const PER_MINUTE = LIMIT.deviceRequestsPerMinute;

/** The limit word for word, with a list of all requests. */
class NaiveLog {
  private allowedAt: number[] = [];

  admit(now: number): number {
    this.allowedAt = this.allowedAt.filter((at) => at > now - WINDOW_MS);
    if (this.allowedAt.length >= PER_MINUTE) return (this.allowedAt[0] ?? 0) + WINDOW_MS - now;
    this.allowedAt.push(now);
    return ADMITTED;
  }
}

function alone(capacity = 64, ringCapacity = 64): SlidingWindowLimiter {
  return new SlidingWindowLimiter({ capacity, ringCapacity, isShared: false });
}

function hashesOf(id: string): [hash: number, tag: number] {
  return [hashText(id), secondHash(id)];
}

/** Generator of the requests of some devices: pauses between bursts of every density. */
const anyHistory = fc.array(
  fc.record({
    device: fc.integer({ min: 0, max: 3 }),
    pauseMs: fc.oneof(
      fc.integer({ min: 0, max: 3 }),
      fc.integer({ min: 0, max: 1000 }),
      fc.integer({ min: 0, max: 20_000 }),
      fc.constantFrom(WINDOW_MS - 1, WINDOW_MS, WINDOW_MS + 1, 65_535, 65_536, 131_072, 2 ** 31),
    ),
    count: fc.oneof(fc.integer({ min: 1, max: 14 }), fc.integer({ min: 100, max: 130 })),
    stepMs: fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 300, max: 5500 })),
  }),
  { minLength: 1, maxLength: 24 },
);

describe('a device may ask 120 times in any 60 seconds', () => {
  it('of 121 requests within a minute exactly the 121st is refused', () => {
    const windows = alone();
    const device = hashesOf('device');
    for (let n = 0; n < PER_MINUTE; n++) expect(windows.admit(...device, n * 499)).toBe(ADMITTED);
    expect(windows.admit(...device, 59_999)).toBe(1);
    expect(windows.admit(...device, 60_000)).toBe(ADMITTED);
    expect(windows.admit(...device, 60_000)).toBe(499);
  });

  it('every decision and every wait is that of a log of all times, whatever the history', () => {
    const anyStart = fc.constantFrom(0, 1, 1_234_567, 2 ** 31 - 30_000, 2 ** 32 - 30_000, 2 ** 40);
    fc.assert(
      fc.property(anyStart, anyHistory, (start, history) => {
        const windows = alone();
        const logs = new Map<number, NaiveLog>();
        let now = start;
        for (const { device, pauseMs, count, stepMs } of history) {
          now += pauseMs;
          const log = logs.get(device) ?? new NaiveLog();
          logs.set(device, log);
          for (let n = 0; n < count; n++, now += stepMs) {
            const got = windows.admit(...hashesOf(`device ${device}`), now);
            const due = log.admit(now);
            if (got !== due) expect({ got, now }).toEqual({ got: due, now });
          }
        }
      }),
      { numRuns: 600, endOnFailure: true },
    );
  });

  it('whoever waits as many whole seconds as told is served, whatever came before', () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        const windows = alone();
        const device = hashesOf('device');
        let now = 0;
        for (const { pauseMs, count, stepMs } of history) {
          now += pauseMs;
          for (let n = 0; n < count; n++, now += stepMs) {
            const waitMs = windows.admit(...device, now);
            if (waitMs === ADMITTED) continue;
            now += Math.ceil(waitMs / 1000) * 1000;
            expect(windows.admit(...device, now)).toBe(ADMITTED);
          }
        }
      }),
      { numRuns: 200 },
    );
  });

  it('refused requests do not count: one who never stops asking gets 120 in every minute', () => {
    const windows = alone();
    const device = hashesOf('device');
    let allowed = 0;
    for (let now = 0; now < 10 * WINDOW_MS; now += 50) {
      if (windows.admit(...device, now) === ADMITTED) allowed += 1;
    }
    expect(allowed).toBe(10 * PER_MINUTE);
  });
});

describe('memory', () => {
  it('a device takes at most 40 bytes of the table, and the table never grows', () => {
    expect(SLOT_BYTES).toBeLessThanOrEqual(40);
    const capacity = 2 ** 20;
    const windows = new SlidingWindowLimiter({ capacity, ringCapacity: 2 ** 15, isShared: false });
    expect(windows.byteCount).toBeLessThanOrEqual(62 * 2 ** 20);
  });

  it('the counts of 49 days ago are not taken for those of now', () => {
    const windows = alone();
    const device = hashesOf('device');
    for (let n = 0; n < PER_MINUTE; n++) windows.admit(...device, n);
    expect(windows.admit(...device, 2 ** 32 + 50)).toBe(ADMITTED);
    expect(windows.busyCount).toBe(0);
    // The counts are forgotten too when other devices ask in the meantime.
    for (let n = 0; n < PER_MINUTE; n++) windows.admit(...device, 2 ** 32 + 60 + n);
    for (let now = 2 ** 32 + 2 ** 28; now < 2 ** 33; now += 2 ** 28) {
      windows.admit(...hashesOf('other'), now);
    }
    expect(windows.busyCount).toBe(0);
    expect(windows.admit(...device, 2 ** 33 + 100)).toBe(ADMITTED);
  });
});

describe('want of room forgets requests, and never refuses anybody for it', () => {
  it('with far too few places nobody below the limit is refused', () => {
    const anyRequests = fc.array(
      fc.tuple(fc.integer({ min: 0, max: 39 }), fc.integer({ min: 0, max: 20 })),
      { minLength: 2000, maxLength: 4000 },
    );
    fc.assert(
      fc.property(anyRequests, (requests) => {
        const windows = alone(16, 4);
        const allowedAt = new Map<number, number[]>();
        let now = 0;
        for (const [device, stepMs] of requests) {
          now += stepMs;
          // Only allowed requests count; the table forgets some of them.
          const within = (allowedAt.get(device) ?? []).filter((at) => at > now - WINDOW_MS);
          const waitMs = windows.admit(...hashesOf(`device ${device}`), now);
          if (within.length < PER_MINUTE && waitMs !== ADMITTED)
            throw new Error('refused too early');
          if (waitMs === ADMITTED) within.push(now);
          allowedAt.set(device, within);
        }
      }),
      { numRuns: 30, endOnFailure: true },
    );
  });

  it('new devices take the places of those with the fewest requests, never of a busy one', () => {
    const windows = alone(8, 8);
    const hard = hashesOf('hard poller');
    for (let n = 0; n < PER_MINUTE; n++) windows.admit(...hard, n);
    for (let n = 0; n < 10_000; n++) windows.admit(...hashesOf(`new ${n}`), 1000 + n);
    expect(windows.admit(...hard, 20_000)).toBe(40_000);
  });

  it('a device that is nearly at its limit keeps its ring when rings run out', () => {
    const windows = alone(1024, 16);
    const hard = hashesOf('hard poller');
    for (let n = 0; n < PER_MINUTE; n++) windows.admit(...hard, n);
    for (let n = 0; n < 6000; n++) windows.admit(...hashesOf(`busy ${n % 200}`), 1000 + n);
    expect(windows.busyCount).toBe(16);
    expect(windows.admit(...hard, 20_000)).toBe(40_000);
  });
});
