// Tests several processes that settle the requests of busy devices with each other: how many requests all of
// them allow together, with a store that answers late, in any order of requests over processes.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LIMIT } from '../../../src/contract/limit.ts';
import { type SharedWindow, settleDebt } from '../../../src/domain/fleet/shared-window.ts';
import {
  ADMITTED,
  MUST_SETTLE,
  SlidingWindowLimiter,
} from '../../../src/domain/fleet/sliding-window-limiter.ts';

const WINDOW_MS = LIMIT.rateWindowMs;
const PER_MINUTE = LIMIT.deviceRequestsPerMinute;
const ALLOWANCE = LIMIT.deviceAllowancePerMinute;
const DEVICE = [123, 456] as const;

type Outcome = { readonly at: number; readonly waitMs: number };
type Delays = { readonly toStoreMs: number; readonly fromStoreMs: number };

/** Processes and one store, with delays between them. Events happen in the order of their times. */
class Cluster {
  readonly allowedAt: number[] = [];
  now = 0;
  private readonly processes: SlidingWindowLimiter[];
  private readonly window: SharedWindow = new Map();
  private events: { at: number; run: () => void }[] = [];

  constructor(size: number) {
    const options = { capacity: 8, ringCapacity: 8, isShared: true };
    this.processes = Array.from({ length: size }, () => new SlidingWindowLimiter(options));
  }

  /** Plans one request; `then` is told its outcome. */
  request(at: number, process: number, delays: Delays, then?: (outcome: Outcome) => void): void {
    const node = this.processes[process % this.processes.length] as SlidingWindowLimiter;
    const end = (waitMs: number): void => {
      then?.({ at: this.now, waitMs });
    };
    this.plan(at, () => {
      const waitMs = node.admit(...DEVICE, this.now);
      if (waitMs === ADMITTED) this.allowedAt.push(this.now);
      if (waitMs !== MUST_SETTLE) return end(waitMs);
      const claim = node.claim(...DEVICE, this.now);
      const debt = { device: 'd', process: `p${this.processes.indexOf(node)}`, ...claim };
      this.plan(at + delays.toStoreMs, () => {
        const settled = settleDebt(this.window, debt, PER_MINUTE, WINDOW_MS, this.now);
        if (settled === 0) this.allowedAt.push(this.now);
        this.plan(this.now + delays.fromStoreMs, () => {
          if (settled === 0) node.allowed(...DEVICE, claim, this.now);
          else node.refused(...DEVICE, claim, settled, this.now);
          end(settled);
        });
      });
    });
  }

  run(): void {
    for (let event = this.next(); event !== undefined; event = this.next()) {
      this.now = event.at;
      event.run();
    }
  }

  private plan(at: number, run: () => void): void {
    const before = this.events.findIndex((event) => event.at > at);
    this.events.splice(before === -1 ? this.events.length : before, 0, { at, run });
  }

  private next(): { at: number; run: () => void } | undefined {
    return this.events.shift();
  }
}

/** Returns the largest number of requests in any window. */
function densest(times: readonly number[]): number {
  let [most, first] = [0, 0];
  for (const [index, at] of times.entries()) {
    while ((times[first] as number) <= at - WINDOW_MS) first += 1;
    most = Math.max(most, index - first + 1);
  }
  return most;
}

const anyDelays = fc.record({
  toStoreMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 800 })),
  fromStoreMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 800 })),
});

const anyBursts = fc.array(
  fc.record({
    process: fc.integer({ min: 0, max: 4 }),
    pauseMs: fc.oneof(
      fc.integer({ min: 0, max: 500 }),
      fc.integer({ min: 0, max: 30_000 }),
      fc.constantFrom(WINDOW_MS - 1, WINDOW_MS, 2 * WINDOW_MS),
    ),
    count: fc.oneof(fc.integer({ min: 1, max: 14 }), fc.integer({ min: 1, max: 130 })),
    stepMs: fc.oneof(fc.integer({ min: 0, max: 20 }), fc.integer({ min: 0, max: 1000 })),
    isSpread: fc.boolean(),
    delays: anyDelays,
  }),
  { minLength: 1, maxLength: 25 },
);

describe(`n processes let through at most 120 + (n - 1) x ${ALLOWANCE} in any 60 seconds`, () => {
  it('whatever the history, however late the store answers', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), anyBursts, (size, bursts) => {
        const cluster = new Cluster(size);
        let at = 0;
        for (const { process, pauseMs, count, stepMs, isSpread, delays } of bursts) {
          at += pauseMs;
          for (let n = 0; n < count; n++, at += stepMs) {
            cluster.request(at, isSpread ? process + n : process, delays);
          }
        }
        cluster.run();
        const most = densest(cluster.allowedAt);
        if (most > PER_MINUTE + (size - 1) * ALLOWANCE)
          throw new Error(`${size} let ${most} through`);
      }),
      { numRuns: 200, endOnFailure: true },
    );
  });

  it('the bound is reached: the allowance is all that a process gives away', () => {
    const cluster = new Cluster(3);
    const atOnce = { toStoreMs: 0, fromStoreMs: 0 };
    for (let n = 0; n < 200; n++) cluster.request(n, 0, atOnce);
    for (let n = 0; n < 50; n++) cluster.request(300 + n, 1 + (n % 2), atOnce);
    cluster.run();
    expect(cluster.allowedAt).toHaveLength(PER_MINUTE + 2 * ALLOWANCE);
  });
});

it('a device that waits as long as told is served, by whichever process, whatever is owed there', () => {
  fc.assert(
    fc.property(anyBursts, fc.array(anyDelays, { minLength: 3, maxLength: 9 }), (bursts, later) => {
      const cluster = new Cluster(4);
      const moves = bursts.flatMap(({ count, ...burst }) =>
        Array.from({ length: count }, (_, n) => ({ ...burst, pauseMs: n ? 0 : burst.pauseMs, n })),
      );
      let hasWaited = false;
      const follow = (from: number): void => {
        const move = moves.shift();
        if (move === undefined) return;
        const { pauseMs, stepMs, process, isSpread, n } = move;
        const delays = later[n % later.length] as Delays;
        const at = from + (hasWaited ? 0 : pauseMs + stepMs);
        cluster.request(at, isSpread ? process + n : process, delays, ({ at: end, waitMs }) => {
          if (hasWaited && waitMs > 0) throw new Error(`still ${waitMs} ms to wait`);
          hasWaited = waitMs > 0;
          follow(hasWaited ? end + Math.ceil(waitMs / 1000) * 1000 : end);
        });
      };
      follow(0);
      cluster.run();
    }),
    { numRuns: 150, endOnFailure: true },
  );
});

describe('while the store is away', () => {
  it('what was told and not answered counts once when it is told again', () => {
    const node = new SlidingWindowLimiter({ capacity: 8, ringCapacity: 8, isShared: true });
    const window: SharedWindow = new Map();
    const tell = (now: number, isHeard: boolean): void => {
      if (node.admit(...DEVICE, now) !== MUST_SETTLE) return;
      const claim = node.claim(...DEVICE, now);
      const debt = { device: 'd', process: 'p', ...claim };
      settleDebt(window, debt, PER_MINUTE, WINDOW_MS, now);
      if (isHeard) node.allowed(...DEVICE, claim, now);
      else node.unanswered(...DEVICE, claim, now);
    };
    for (let n = 0; n < 40; n++) tell(Math.floor(n / 3), n === 39);
    expect(window.size).toBe(40);
  });
});
