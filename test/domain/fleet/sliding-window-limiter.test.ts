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
});

describe('memory', () => {
  it('a device takes at most 40 bytes of the table, and the table never grows', () => {
    expect(SLOT_BYTES).toBeLessThanOrEqual(40);
    const capacity = 2 ** 20;
    const windows = new SlidingWindowLimiter({ capacity, ringCapacity: 2 ** 15, isShared: false });
    expect(windows.byteCount).toBeLessThanOrEqual(62 * 2 ** 20);
  });
});

it('the counts of 49 days ago are not taken for those of now', () => {
  const [windows, device] = [alone(), hashesOf('device')];
  for (let n = 0; n < PER_MINUTE; n++) windows.admit(...device, n);
  expect([windows.admit(...device, 2 ** 32 + 50), windows.busyCount]).toEqual([ADMITTED, 0]);
  for (let n = 0; n < PER_MINUTE; n++) windows.admit(...device, 2 ** 32 + 60 + n);
  // Also when others ask meanwhile.
  for (let now = 2 ** 32 + 2 ** 28; now < 2 ** 33; now += 2 ** 28)
    windows.admit(...hashesOf('other'), now);
  expect([windows.busyCount, windows.admit(...device, 2 ** 33 + 100)]).toEqual([0, ADMITTED]);
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

  it('new devices that fill the table anew every second do not wash out one who polls four times in it', () => {
    const windows = alone(2 ** 14, 64);
    const hard = hashesOf('hard');
    let allowed = 0;
    for (let now = 0; now < WINDOW_MS; now += 25) {
      if (now % 250 === 0 && windows.admit(...hard, now) === ADMITTED) allowed += 1;
      for (let n = 0; n < 400; n++) windows.admit(...hashesOf(`new ${now} ${n}`), now);
    }
    // Only requests that came before the table knew that the device asks again may be forgotten.
    expect(allowed).toBeLessThanOrEqual(PER_MINUTE + 2);
  });

  it('hard pollers stay limited exactly through a flood of new devices, in memory that does not grow', () => {
    const windows = alone(2 ** 16, 4096);
    const hard = Array.from({ length: 50 }, (_, n) => hashesOf(`hard ${n}`));
    const allowed = new Array<number>(hard.length).fill(0);
    const before = process.memoryUsage().arrayBuffers;
    let refused = 0;
    for (let now = 0, newcomers = 0; now < 5 * WINDOW_MS; now += 250) {
      for (const [n, hashes] of hard.entries()) {
        if (windows.admit(...hashes, now) === ADMITTED) allowed[n] = (allowed[n] ?? 0) + 1;
      }
      for (let n = 0; n < 80; n++, newcomers++) {
        if (windows.admit(...hashesOf(`new ${newcomers}`), now) !== ADMITTED) refused += 1;
      }
    }
    expect(refused).toBe(0);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThanOrEqual(1024);
    expect(allowed).toEqual(hard.map(() => 5 * PER_MINUTE));
    expect(windows.busyCount).toBe(hard.length);
  });
});
