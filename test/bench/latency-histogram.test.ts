// Tests that the percentiles of the histogram are as exact as its header says.

import { describe, expect, it } from 'vitest';
import { LatencyHistogram } from '../../bench/load/latency-histogram.ts';

describe('a latency histogram', () => {
  it('knows every percentile to within one percent of the sorted values', () => {
    const histogram = new LatencyHistogram();
    const values = Array.from({ length: 20_000 }, (_, index) => 0.01 * 1.0006 ** index);
    for (const value of values) histogram.record(value);
    for (const share of [0.01, 0.5, 0.9, 0.99, 0.999, 1]) {
      const exactUs = (values[Math.ceil(values.length * share) - 1] ?? 0) * 1000;
      expect(histogram.percentileUs(share) / exactUs).toBeCloseTo(1, 1.99);
      expect(Math.abs(histogram.percentileUs(share) / exactUs - 1)).toBeLessThan(0.01);
    }
  });

  it('counts what is shorter than its unit, and what is longer than it can hold', () => {
    const histogram = new LatencyHistogram();
    histogram.record(-1);
    histogram.record(1e9);
    expect(histogram.size).toBe(2);
    expect(histogram.percentileUs(0.5)).toBeLessThan(1);
    expect(histogram.percentileUs(1)).toBeGreaterThan(120e6);
  });

  it('has no percentile without values', () => {
    expect(new LatencyHistogram().percentileUs(0.5)).toBeNaN();
  });

  it('survives being sent as plain counts, and adds up', () => {
    const histogram = new LatencyHistogram();
    for (let ms = 1; ms <= 100; ms++) histogram.record(ms);
    const copy = new LatencyHistogram([...histogram.counts]);
    copy.add(histogram);
    expect(copy.size).toBe(200);
    expect(copy.percentileUs(0.5)).toBe(histogram.percentileUs(0.5));
  });
});
