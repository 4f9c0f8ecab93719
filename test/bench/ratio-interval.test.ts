// Tests the interval that `compare` prints beside a ratio.

import { describe, expect, it } from 'vitest';
import { ratioInterval, STARTS_MAX } from '../../bench/measure/ratio-interval.ts';
import { seededRandom } from '../../bench/random.ts';

/** Sum of twelve uniform numbers less six: nearly normal, with mean 0 and variance 1. */
function normal(random: () => number): number {
  return Array.from({ length: 12 }, random).reduce((sum, value) => sum + value, -6);
}

describe('the interval of a ratio', () => {
  it('is that of Student over the logarithms', () => {
    // Logarithms 0.1, 0.2, 0.3: mean 0.2, standard error 0.1 / √3, t(2) = 4.303.
    const { ratio, low, high } = ratioInterval([0.1, 0.2, 0.3].map((value) => [Math.exp(value)]));
    expect(ratio).toBeCloseTo(Math.exp(0.2), 10);
    expect(low).toBeCloseTo(Math.exp(0.2 - (4.303 * 0.1) / Math.sqrt(3)), 10);
    expect(high).toBeCloseTo(Math.exp(0.2 + (4.303 * 0.1) / Math.sqrt(3)), 10);
  });

  it('has no width when every start says the same', () => {
    const { ratio, low, high } = ratioInterval([[0.97], [0.97, 0.97], [0.97]]);
    for (const value of [ratio, low, high]) expect(value).toBeCloseTo(0.97, 12);
  });

  it('turns round when the sides are swapped', () => {
    const starts = [[0.9, 0.95], [1.02, 1.1, 0.97], [0.99]];
    const there = ratioInterval(starts);
    const back = ratioInterval(starts.map((turns) => turns.map((ratio) => 1 / ratio)));
    expect(back.ratio).toBeCloseTo(1 / there.ratio, 12);
    expect(back.low).toBeCloseTo(1 / there.high, 12);
    expect(back.high).toBeCloseTo(1 / there.low, 12);
  });

  it('is not moved by one wild turn among three', () => {
    const calm = ratioInterval([
      [1, 1.01, 1.02],
      [1, 1.02, 1.03],
    ]);
    const wild = ratioInterval([
      [1, 1.01, 9],
      [1, 1.02, 9],
    ]);
    expect(wild).toEqual(calm);
  });

  it('counts starts, not turns: many turns of the same starts make it no narrower', () => {
    const few = ratioInterval([[1], [1.05]]);
    const many = ratioInterval([Array(50).fill(1), Array(50).fill(1.05)]);
    expect(many.high / many.low).toBeCloseTo(few.high / few.low, 12);
  });

  it('has a ratio but no ends with one start, and nothing without any', () => {
    expect(ratioInterval([[1.1, 1.2, 1.3]])).toEqual({
      ratio: expect.closeTo(1.2, 12),
      low: Number.NaN,
      high: Number.NaN,
    });
    expect(ratioInterval([]).ratio).toBeNaN();
  });

  it('refuses more starts than it has quantiles for', () => {
    expect(() => ratioInterval(Array(STARTS_MAX).fill([1]))).not.toThrow();
    expect(() => ratioInterval(Array(STARTS_MAX + 1).fill([1]))).toThrow('more than 16 starts');
  });

  it('holds the true ratio in 95 of 100 comparisons, however many starts they have', () => {
    const random = seededRandom(7);
    for (const count of [2, 3, 6, STARTS_MAX]) {
      let held = 0;
      for (let comparison = 0; comparison < 2000; comparison++) {
        const starts = Array.from({ length: count }, () => {
          const ofProcess = 0.02 * normal(random);
          return Array.from({ length: 3 }, () =>
            Math.exp(0.05 + ofProcess + 0.03 * normal(random)),
          );
        });
        const { low, high } = ratioInterval(starts);
        if (low <= Math.exp(0.05) && Math.exp(0.05) <= high) held += 1;
      }
      expect(held / 2000).toBeGreaterThan(0.935);
      expect(held / 2000).toBeLessThan(0.965);
    }
  });
});
