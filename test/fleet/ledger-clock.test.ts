// Tests the ledger's clock as a process knows it: right to within a round trip, whatever the machine's clock
// shows. And the watch over that one: one warning a minute, by one process, while it is wrong.

import fc from 'fast-check';
import { afterEach, expect, it, vi } from 'vitest';
import { ClockWatch, LedgerClock } from '../../src/fleet/ledger-clock.ts';
import type { Log } from '../../src/observe/log.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import { ledgerAway } from '../support/fake-ledger.ts';

/** A ledger and a machine whose clocks a test sets; an answer takes `thereMs` and `backMs`. */
function setUp(aheadMs = 0) {
  const time = {
    ledgerMs: 1_000_000,
    stopwatchMs: 77,
    aheadMs,
    thereMs: 0,
    backMs: 0,
    isAway: false,
  };
  const pass = (ms: number): void => {
    time.ledgerMs += ms;
    time.stopwatchMs += ms;
  };
  const ledger = {
    async readTime() {
      pass(time.thereMs);
      const read = time.ledgerMs;
      pass(time.backMs);
      if (time.isAway) throw ledgerAway();
      return read;
    },
  };
  const clock = new LedgerClock(
    ledger,
    () => time.ledgerMs + time.aheadMs,
    () => time.stopwatchMs,
  );
  return { time, pass, clock };
}

it('before the first comparison it is the clock of the machine', async () => {
  const { time, pass, clock } = setUp(5000);
  pass(1234);
  expect(clock.now()).toBe(time.ledgerMs + 5000);
  expect(clock.aheadMs).toBeUndefined();
  time.isAway = true;
  await expect(clock.compare()).rejects.toThrow();
  expect(clock.aheadMs).toBeUndefined();
});

it('it is right to within half a round trip, whatever the clock of the machine is', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: -1e10, max: 1e10 }),
      fc.nat(3000),
      fc.nat(3000),
      async (aheadMs, thereMs, backMs) => {
        const { time, clock } = setUp(aheadMs);
        Object.assign(time, { thereMs, backMs });
        await clock.compare();
        const error = Math.abs(clock.now() - time.ledgerMs);
        // A clock that may be right is believed: it differs by less than the round trip.
        const isBelieved = clock.aheadMs === 0;
        expect(error).toBeLessThanOrEqual((thereMs + backMs) / (isBelieved ? 1 : 2));
      },
    ),
  );
});

it('a slow answer moves the clock no further than it shows, though the two clocks drift', async () => {
  const { time, pass, clock } = setUp(-3000);
  await clock.compare();
  pass(5000);
  time.ledgerMs -= 1;
  Object.assign(time, { thereMs: 0, backMs: 4000 });
  await clock.compare();
  expect(clock.now()).toBe(time.ledgerMs);
});

it('a slow answer does not spoil what a quick one told', async () => {
  const { time, pass, clock } = setUp(-3000);
  Object.assign(time, { thereMs: 1, backMs: 1 });
  await clock.compare();
  const error = clock.now() - time.ledgerMs;
  pass(5000);
  Object.assign(time, { thereMs: 0, backMs: 4000 });
  await clock.compare();
  expect(clock.now() - time.ledgerMs).toBe(error);
});

it('a jump of the machine changes nothing but the difference, one of the ledger is followed', async () => {
  const { time, pass, clock } = setUp();
  await clock.compare();
  for (const aheadMs of [3_600_000, 0, -86_400_000, 0]) {
    time.aheadMs = aheadMs;
    pass(10);
    expect([clock.now(), clock.aheadMs]).toEqual([time.ledgerMs, aheadMs]);
  }
  for (const jumpMs of [-5000, 86_400_000]) {
    time.ledgerMs += jumpMs;
    await clock.compare();
    expect(clock.now()).toBe(time.ledgerMs);
  }
});

const watches: ClockWatch[] = [];
afterEach(() => {
  for (const watch of watches.splice(0)) watch.stop();
  vi.useRealTimers();
});

function watching(isTelling = true) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  const state = { aheadMs: 0, isAway: false, comparisons: 0 };
  const clock = {
    get aheadMs() {
      return state.aheadMs;
    },
    async compare() {
      state.comparisons += 1;
      if (state.isAway) throw ledgerAway();
    },
  };
  const warnings: unknown[] = [];
  const log = { warn: (details: unknown) => warnings.push(details), debug() {}, error() {} };
  const metrics = new Metrics();
  const watch = new ClockWatch({ clock, metrics, log: log as unknown as Log, isTelling });
  watches.push(watch);
  return { state, warnings, metrics, watch };
}

it('warns once a minute while the difference is above 5 s, in either direction', async () => {
  const { state, warnings, watch } = watching();
  state.aheadMs = 5000;
  await watch.start();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(warnings).toEqual([]);
  state.aheadMs = 5001;
  await vi.advanceTimersByTimeAsync(59_000);
  expect(warnings).toEqual([{ differenceSeconds: 5.001 }]);
  state.aheadMs = -3_600_000;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(warnings).toEqual([{ differenceSeconds: 5.001 }, { differenceSeconds: -3600 }]);
  state.aheadMs = 0;
  await vi.advanceTimersByTimeAsync(180_000);
  expect(warnings).toHaveLength(2);
});

it('goes on when the ledger is away, and counts it', async () => {
  const { state, metrics, watch } = watching();
  state.isAway = true;
  await watch.start();
  const before = state.comparisons;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(state.comparisons - before).toBeGreaterThan(5);
  expect(metrics.faults.counts.get('clock')).toBeGreaterThan(5);
});

it('has a figure in the process that tells, and none in the others', async () => {
  const telling = watching();
  telling.state.aheadMs = -1500;
  expect(await telling.metrics.registry.metrics()).toContain(
    'sluice_clock_difference_seconds{process="main"} -1.5',
  );
  const quiet = watching(false);
  quiet.state.aheadMs = 60_000;
  await quiet.watch.start();
  expect(await quiet.metrics.registry.metrics()).not.toContain('sluice_clock_difference_seconds');
  expect(quiet.warnings).toEqual([]);
});
