// Tests the health of a release: intervals, rates, bases, verdict and the share of silence that is normal
// (docs/contract.md 27.5 to 27.7).

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SIGNALS } from '../../../src/contract/rollout-plan.ts';
import {
  judgeHealth,
  NO_SIGNALS,
  type SignalCounts,
  tripText,
} from '../../../src/domain/rollout/judge-health.ts';
import { wilsonInterval } from '../../../src/domain/rollout/wilson-interval.ts';
import { PROPERTY_RUNS } from '../../support/property-runs.ts';
import { guards } from './plan-fixture.ts';

function judge(counts: Partial<SignalCounts>, parts?: Parameters<typeof guards>[0]) {
  const context = {
    guards: parts === undefined ? null : guards(parts),
    tripped: [],
    silentShare: null,
  };
  return judgeHealth({ ...NO_SIGNALS, ...counts }, context);
}

describe('the 95 % Wilson interval (§27.7)', () => {
  // Values of the usual tables for z = 1.96, such as prop.test(correct = FALSE) of R.
  it.each([
    [0, 10, 0, 27.75],
    [1, 10, 1.79, 40.42],
    [5, 10, 23.66, 76.34],
    [10, 10, 72.25, 100],
    [15, 100, 9.31, 23.28],
    [0, 1000, 0, 0.38],
  ])('%i of %i is %f to %f %%', (hits, trials, low, high) => {
    const interval = wilsonInterval(hits, trials);
    expect(interval.low).toBeCloseTo(low, 2);
    expect(interval.high).toBeCloseTo(high, 2);
  });

  it('is 0 to 0 while nothing was measured', () => {
    expect(wilsonInterval(0, 0)).toEqual({ low: 0, high: 0 });
  });

  it('holds the rate, within 0 and 100, and narrows with more devices', () => {
    const counts = fc
      .integer({ min: 1, max: 1_000_000 })
      .chain((trials) => fc.tuple(fc.integer({ min: 0, max: trials }), fc.constant(trials)));
    fc.assert(
      fc.property(counts, ([hits, trials]) => {
        const { low, high } = wilsonInterval(hits, trials);
        const percent = (hits / trials) * 100;
        expect(low).toBeGreaterThanOrEqual(0);
        expect(low).toBeLessThanOrEqual(percent + 1e-9);
        expect(high).toBeGreaterThanOrEqual(percent - 1e-9);
        expect(high).toBeLessThanOrEqual(100);
        const wider = wilsonInterval(hits * 10, trials * 10);
        expect(wider.high - wider.low).toBeLessThanOrEqual(high - low + 1e-9);
      }),
      { numRuns: PROPERTY_RUNS },
    );
  });
});

describe('rates and bases of the signals (§27.6)', () => {
  const counts = {
    ...{ offered: 200, installed: 160, failed: 10, reverted: 8, stuck: 9, silent: 30 },
    ...{ stuckBase: 90, silentBase: 150 },
  };

  it('each is taken over its own base, with one decimal', () => {
    const { rates } = judge(counts).health;
    expect(rates.failed.percent).toBe(5);
    expect(rates.reverted.percent).toBe(5);
    expect(rates.stuck.percent).toBe(10);
    expect(rates.silent.percent).toBe(20);
    expect(rates.failed).toEqual({
      ...{ percent: 5, low: 2.7, high: 9, limit: null, tripped: false },
    });
  });

  it('percents are 0 while the base is 0', () => {
    const { rates } = judge({}).health;
    for (const signal of SIGNALS) {
      expect(rates[signal]).toMatchObject({ percent: 0, low: 0, high: 0 });
    }
  });

  it('the share of silent ones among the other devices is taken off rate and interval', () => {
    const plain = judge(counts).health.rates.silent;
    const others = { devices: 1000, silent: 100 };
    const { health, silentShare } = judge({ ...counts, others });
    expect(silentShare).toBe(0.1);
    expect(health.silent).toBe(30);
    expect(health.rates.silent.percent).toBeCloseTo(plain.percent - 10, 5);
    expect(health.rates.silent.low).toBeCloseTo(plain.low - 10, 1);
    expect(health.rates.silent.high).toBeCloseTo(plain.high - 10, 1);
    const more = judge({ ...counts, others: { devices: 1000, silent: 900 } });
    expect(more.health.rates.silent).toMatchObject({ percent: 0, low: 0, high: 0 });
  });

  it('with too few other devices the last share that had enough holds, before that 0', () => {
    const few = { ...NO_SIGNALS, ...counts, others: { devices: 29, silent: 29 } };
    const before = judgeHealth(few, { guards: null, tripped: [], silentShare: null });
    expect(before.health.rates.silent.percent).toBe(20);
    expect(before.silentShare).toBeNull();
    const after = judgeHealth(few, { guards: null, tripped: [], silentShare: 0.15 });
    expect(after.health.rates.silent.percent).toBe(5);
    expect(after.silentShare).toBe(0.15);
  });
});

describe('verdict (§27.7)', () => {
  it('is too early while fewer devices were offered it than the minimum, 30 without a plan', () => {
    expect(judge({ offered: 29 }).health.verdict).toBe('too early');
    expect(judge({ offered: 30 }).health.verdict).toBe('healthy');
    expect(judge({ offered: 99 }, { minimumDevices: 100 }).health.verdict).toBe('too early');
  });

  it('is never unhealthy without limits', () => {
    const bad = { offered: 100, installed: 100, failed: 100, reverted: 100 };
    expect(judge(bad).health.verdict).toBe('healthy');
    expect(judge(bad, {}).health.verdict).toBe('healthy');
  });

  it('is unhealthy when the low end is above the limit, not when only the rate is', () => {
    const unsure = judge({ offered: 100, failed: 5 }, { failedPercent: 3 });
    expect(unsure.health.rates.failed).toMatchObject({ percent: 5, limit: 3 });
    expect(unsure.exceeded).toEqual([]);
    expect(unsure.health.verdict).toBe('healthy');
    const sure = judge({ offered: 1000, failed: 50 }, { failedPercent: 3 });
    expect(sure.exceeded).toEqual(['failed']);
    expect(sure.health.verdict).toBe('unhealthy');
  });

  it('a base below the minimum exceeds nothing', () => {
    const counts = { offered: 100, installed: 29, reverted: 29 };
    expect(judge(counts, { revertedPercent: 1 }).exceeded).toEqual([]);
    const enough = { ...counts, installed: 30, reverted: 30 };
    expect(judge(enough, { revertedPercent: 1 }).exceeded).toEqual(['reverted']);
  });

  it('a limit of 0 is a limit', () => {
    expect(judge({ offered: 100, failed: 1 }, { failedPercent: 0 }).exceeded).toEqual(['failed']);
  });

  it('says in words and figures what is wrong', () => {
    const counts = { ...NO_SIGNALS, offered: 1000, failed: 50 };
    const { health, exceeded } = judge(counts, { failedPercent: 3 });
    expect(tripText(health, counts, exceeded)).toBe(
      'failed: 50 of 1000 devices, 5 % (95 % interval 3.8 to 6.5 %), above the limit of 3 %',
    );
  });
});
