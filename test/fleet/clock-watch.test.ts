// Tests the watch over the clock of a node: one warning a minute, by one process, while the clock is wrong.

import { afterEach, expect, it, vi } from 'vitest';
import { ClockWatch } from '../../src/fleet/ledger-clock.ts';
import type { Log } from '../../src/observe/log.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import { ledgerAway } from '../support/fake-ledger.ts';

const watches: ClockWatch[] = [];
afterEach(() => {
  for (const watch of watches.splice(0)) watch.stop();
  vi.useRealTimers();
});

function setUp(isTelling = true) {
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
  const { state, warnings, watch } = setUp();
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
  const { state, metrics, watch } = setUp();
  state.isAway = true;
  await watch.start();
  const before = state.comparisons;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(state.comparisons - before).toBeGreaterThan(5);
  expect(metrics.faults.counts.get('clock')).toBeGreaterThan(5);
});

it('has a figure in the process that tells, and none in the others', async () => {
  const telling = setUp();
  telling.state.aheadMs = -1500;
  expect(await telling.metrics.registry.metrics()).toContain(
    'sluice_clock_difference_seconds{process="main"} -1.5',
  );
  const quiet = setUp(false);
  quiet.state.aheadMs = 60_000;
  await quiet.watch.start();
  expect(await quiet.metrics.registry.metrics()).not.toContain('sluice_clock_difference_seconds');
  expect(quiet.warnings).toEqual([]);
});
