// Tests the health of a release: intervals, rates, bases, verdict and the share of silence that is normal
// (docs/contract.md 27.5 to 27.7).

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SIGNALS } from '../../../src/contract/choice.ts';
import { judgeHealth } from '../../../src/domain/rollout/judge-health.ts';
import {
  NO_SIGNALS,
  type SignalCounts,
  type SilentOthers,
} from '../../../src/domain/rollout/signal-counts.ts';
import { differenceInterval, wilsonInterval } from '../../../src/domain/rollout/wilson-interval.ts';
import { PROPERTY_RUNS } from '../../support/property-runs.ts';
import { guards } from './plan-fixture.ts';

function judge(counts: Partial<SignalCounts>, parts?: Parameters<typeof guards>[0]) {
  const context = {
    guards: parts === undefined ? null : guards(parts),
    tripped: [],
    silentOthers: null,
    isOffered: true,
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

  it('each is taken over its own base, with one decimal, and is 0 while that is 0', () => {
    const { rates } = judge(counts).health;
    expect(SIGNALS.map((signal) => rates[signal].percent)).toEqual([5, 5, 10, 20]);
    expect(rates.failed).toEqual({
      ...{ base: 200, percent: 5, low: 2.7, high: 9, limit: null, tripped: false },
      network: null,
    });
    const none = judge({}).health.rates;
    for (const signal of SIGNALS) {
      expect(none[signal]).toMatchObject({ percent: 0, low: 0, high: 0 });
    }
  });

  it('silent ones are compared with the other devices, of which neither share is exact', () => {
    const others = { devices: 1000, silent: 100, scale: 1 };
    const { health, silentOthers } = judge({ ...counts, others });
    expect(silentOthers).toMatchObject(others);
    expect(health.silent).toBe(30);
    const { low, high } = differenceInterval(
      { hits: 30, trials: 150 },
      { hits: 100, trials: 1000 },
    );
    expect(health.rates.silent).toMatchObject({ base: 150, percent: 10 });
    expect(health.rates.silent.low).toBeCloseTo(low, 1);
    expect(health.rates.silent.high).toBeCloseTo(high, 1);
    const more = judge({ ...counts, others: { devices: 1000, silent: 900, scale: 1 } });
    expect(more.health.rates.silent).toMatchObject({ percent: 0, low: 0, high: 0 });
  });

  it('with too few other devices the last ones that were enough count, before that none', () => {
    const few = { ...NO_SIGNALS, ...counts, others: { devices: 99, silent: 99, scale: 1 } };
    const context = { guards: null, tripped: [], silentOthers: null, isOffered: true };
    const before = judgeHealth(few, context);
    expect(before.health.rates.silent.percent).toBe(20);
    expect(before.silentOthers).toBeNull();
    const last = { devices: 200, silent: 30, scale: 1 };
    const after = judgeHealth(few, { ...context, silentOthers: last });
    expect(after.health.rates.silent.percent).toBe(5);
    expect(after.silentOthers).toBe(last);
  });

  it('one other device is enough for a guard that needs one', () => {
    const others = { devices: 1, silent: 0, scale: 1 };
    const limit = { minimumDevices: 1 };
    expect(judge({ ...counts, others }, limit).silentOthers).toMatchObject(others);
    expect(judge({ ...counts, others: { ...others, devices: 0 } }, limit).silentOthers).toBeNull();
  });
});

describe("Newcombe's interval of a difference (§27.6)", () => {
  // The table of the paper, method 10 without a correction, in percent.
  it.each([
    [56, 70, 48, 80, 5.24, 33.39],
    [9, 10, 3, 10, 17.05, 80.9],
    [6, 7, 2, 7, 5.82, 80.62],
    [5, 56, 0, 29, -3.81, 19.26],
    [0, 10, 0, 20, -16.11, 27.75],
    [10, 10, 0, 10, 60.75, 100],
  ])(
    'of %i of %i and %i of %i is %f to %f %%',
    (hits, trials, otherHits, otherTrials, low, high) => {
      const interval = differenceInterval(
        { hits, trials },
        { hits: otherHits, trials: otherTrials },
      );
      expect(interval.low).toBeCloseTo(low, 1);
      expect(interval.high).toBeCloseTo(high, 1);
    },
  );
});

describe('verdict (§27.7)', () => {
  const enough = { offered: 100, installed: 100, stuckBase: 100, silentBase: 100 };
  const others = { devices: 100, silent: 0, scale: 1 };

  it('is too early while a signal has too few devices, of those with a limit under a plan', () => {
    expect(judge(enough).health.verdict).toBe('healthy');
    for (const base of ['offered', 'installed', 'stuckBase', 'silentBase'] as const) {
      expect(judge({ ...enough, [base]: 99 }).health.verdict).toBe('too early');
    }
    const limit = { failedPercent: 1, minimumDevices: 30 };
    expect(judge({ offered: 29 }, limit).health.verdict).toBe('too early');
    expect(judge({ offered: 30 }, limit).health.verdict).toBe('healthy');
    const silent = { silentPercent: 1 };
    expect(judge(enough, silent).health.verdict).toBe('too early');
    expect(judge({ ...enough, others }, silent).health.verdict).toBe('healthy');
  });

  it.each([
    ['is too early for a release that is not offered now', null, [], 'too early'],
    ['stays unhealthy while the plan is held for it', guards(), ['failed'], 'unhealthy'],
  ] as const)('%s', (_, limits, tripped, verdict) => {
    const context = { guards: limits, tripped, silentOthers: null, isOffered: false };
    const { health } = judgeHealth({ ...NO_SIGNALS, ...enough }, context);
    expect(health.verdict).toBe(verdict);
  });

  it('is never unhealthy without limits, of which 0 is one', () => {
    const bad = { ...enough, failed: 100, reverted: 100 };
    expect([judge(bad), judge(bad, {})].map(({ health }) => health.verdict)).toEqual([
      ...['healthy', 'healthy'],
    ]);
    const { exceeded } = judge({ offered: 100, failed: 1 }, { failedPercent: 0 });
    expect(exceeded.map(({ signal }) => signal)).toEqual(['failed']);
  });

  it('is unhealthy when the low end is above the limit, not when only the rate is', () => {
    const unsure = judge({ offered: 100, failed: 5 }, { failedPercent: 3 });
    expect(unsure.health.rates.failed).toMatchObject({ percent: 5, limit: 3 });
    expect(unsure.exceeded).toEqual([]);
    expect(unsure.health.verdict).toBe('healthy');
    const sure = judge({ offered: 1000, failed: 50 }, { failedPercent: 3 });
    expect(sure.exceeded.map(({ signal }) => signal)).toEqual(['failed']);
    expect(sure.health.verdict).toBe('unhealthy');
  });

  it('a base below the minimum exceeds nothing: its guard cannot judge', () => {
    const few = judge({ installed: 99, reverted: 99 }, { revertedPercent: 1 });
    expect(few.exceeded).toEqual([]);
    const reason = 'reverted: 99 devices to judge by, and its guard needs 100';
    expect(few.blind).toEqual([{ signal: 'reverted', reason }]);
    const many = judge({ installed: 100, reverted: 100 }, { revertedPercent: 1 });
    expect(many.exceeded.map(({ signal }) => signal)).toEqual(['reverted']);
    expect(many.blind).toEqual([]);
  });

  it('says in words and figures what is wrong: those that decided', () => {
    const { exceeded } = judge({ offered: 1000, failed: 50 }, { failedPercent: 3 });
    expect(exceeded[0]?.reason).toBe(
      'failed: 50 of 1000 devices, 5 % (95 % interval 3.8 to 6.5 %), above the limit of 3 %',
    );
    const silent = {
      ...{ silent: 30, silentBase: 150 },
      others: { devices: 1000, silent: 100, scale: 1 },
    };
    expect(judge(silent, { silentPercent: 2 }).exceeded[0]?.reason).toBe(
      'silent: 30 of 150 devices, 20 %, less 10 % (100 of 1000 other devices): 10 % ' +
        '(95 % interval 4 to 17.3 %), above the limit of 2 %',
    );
  });
});

describe('networks (§27.5)', () => {
  const stuckBy = (...parts: (readonly [hits: number, base: number])[]) => ({
    ...NO_SIGNALS.networks,
    stuck: { count: 3, parts: parts.map(([hits, base]) => ({ hits, base })) },
  });
  const limit = { stuckPercent: 2.5 };
  const judgedOf = (counts: Partial<SignalCounts>) => {
    const { exceeded, undecided, health } = judge({ ...counts }, limit);
    const { network } = health.rates.stuck;
    const signals = { exceeded: exceeded.length > 0, undecided: undecided.length > 0 };
    return { ...signals, network, verdict: health.verdict };
  };
  const STUCK = { stuck: 100, stuckBase: 1000 };
  const CLEAR = { exceeded: false, undecided: false, network: null, verdict: 'healthy' };
  const BAD = { ...CLEAR, exceeded: true, verdict: 'unhealthy' };

  it('a condition holds where it does without each of them', () => {
    expect(judgedOf(STUCK)).toEqual(BAD);
    expect(judgedOf({ ...STUCK, networks: stuckBy([50, 50], [0, 700]) })).toEqual(BAD);
    const { exceeded } = judge({ ...STUCK, networks: stuckBy([1, 100]) }, limit);
    expect(exceeded[0]?.reason).toContain('100 of 1000 devices from 3 networks, 10 %');
  });

  it('one network makes no condition hold, whatever its share', () => {
    expect(judgedOf({ ...STUCK, networks: stuckBy([100, 100]) })).toEqual(CLEAR);
    expect(judgedOf({ ...STUCK, networks: stuckBy([100, 900]) })).toEqual(CLEAR);
    const most = { stuck: 200, stuckBase: 350, networks: stuckBy([200, 200], [0, 1]) };
    expect(judgedOf(most)).toEqual(CLEAR);
    // The network with the most hits is not always the one whose devices matter.
    const two = { stuck: 60, stuckBase: 1000, networks: stuckBy([40, 800], [39, 39]) };
    expect(judgedOf(two)).toEqual(CLEAR);
  });

  it('where one leaves too few devices to judge by, its guard is undecided', () => {
    const counts = { stuck: 200, stuckBase: 260, networks: stuckBy([200, 200]) };
    const network = { count: 200, base: 200 };
    expect(judgedOf(counts)).toEqual({ ...CLEAR, undecided: true, network, verdict: 'too early' });
    const reason =
      'stuck: 200 of 260 devices from 3 networks, 76.9 % (95 % interval 71.4 to 81.6 %), above the ' +
      'limit of 2.5 %; without one network (200 of its 200 devices) 60 devices to judge by are ' +
      'left, and its guard needs 100';
    expect(judge(counts, limit).undecided).toEqual([{ signal: 'stuck', reason }]);
    // One without a single hit may be the fleet.
    const office = { stuck: 60, stuckBase: 260, networks: stuckBy([0, 200], [1, 1]) };
    expect(judgedOf(office)).toMatchObject({ undecided: true, network: { count: 0, base: 200 } });
  });

  it('a fleet behind one address is judged as ever while nothing is wrong', () => {
    expect(judgedOf({ stuck: 2, stuckBase: 300, networks: stuckBy([2, 300]) })).toEqual(CLEAR);
  });

  describe('of silent devices', () => {
    const silentBy = (...parts: SignalCounts['networks']['silent']['parts']) => ({
      ...NO_SIGNALS.networks,
      silent: { count: 1, parts },
    });
    const judgeSilent = (
      counts: Partial<SignalCounts>,
      silentOthers: SilentOthers | null = null,
    ) => {
      const context = { guards: guards({ silentPercent: 5 }), tripped: [], isOffered: true };
      return judgeHealth({ ...NO_SIGNALS, ...counts }, { ...context, silentOthers });
    };
    const OWN = { silent: 60, silentBase: 200 };
    /** Others of whom as many are silent, and strangers who never are. */
    const others = { devices: 1200, silent: 60, scale: 1 };
    const strangers = { hits: 0, base: 0, others: 1000, silentOthers: 0 };

    it('a network leaves the other devices too', () => {
      expect(judgeSilent({ ...OWN, others }).exceeded).toHaveLength(1);
      const counts = { ...OWN, others, networks: silentBy(strangers) };
      const { health, exceeded, undecided } = judgeSilent(counts);
      expect([exceeded, undecided, health.verdict]).toEqual([[], [], 'healthy']);
    });

    it('with too few others left the last ones count that were enough, before that none', () => {
      const few = { devices: 1060, silent: 18, scale: 1 };
      const counts = { ...OWN, others: few, networks: silentBy(strangers) };
      const { undecided, silentOthers } = judgeSilent(counts);
      expect(undecided.map(({ reason }) => reason)).toEqual([
        expect.stringContaining(
          'without one network (0 of its 0 devices, and 1000 of the others) 60 other devices to ' +
            'compare with are left, and its guard needs 100',
        ),
      ]);
      expect(silentOthers).toMatchObject(few);
      const last = { devices: 300, silent: 90, scale: 1 };
      const after = judgeSilent(counts, { ...few, without: last });
      expect([after.exceeded, after.undecided]).toEqual([[], []]);
      expect(after.silentOthers?.without).toEqual(last);
    });

    it('the others to remember are those that a network leaves with the largest share', () => {
      const networks = silentBy({ ...strangers, others: 3, silentOthers: 3 }, strangers);
      const { silentOthers } = judgeSilent({ ...OWN, others, networks });
      expect(silentOthers?.without).toMatchObject({ devices: 200, silent: 60 });
      // Later there are no others, and the share without the strangers counts.
      const later = judgeSilent(OWN, silentOthers);
      expect([later.exceeded, later.undecided]).toEqual([[], []]);
      const bad = judgeSilent({ ...OWN, silent: 120 }, silentOthers);
      expect(bad.exceeded).toHaveLength(1);
    });
  });
});
