// Ratio of two sides that took turns, with its confidence interval.

import { median } from './statistics.ts';

export type RatioInterval = {
  readonly ratio: number;
  /** Ends of the interval; NaN when there are too few starts for one. */
  readonly low: number;
  readonly high: number;
};

/** Quantiles at 0.975 of Student's t distribution, by degrees of freedom from 1. */
const T_QUANTILES = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145,
  2.131,
];
/** Maximum number of starts, which is as far as the quantiles go. */
export const STARTS_MAX = T_QUANTILES.length + 1;

/**
 * Mean ratio with its 95 % interval. `starts` has, for each time that both sides were started anew, the
 * ratios of the turns since. It is a t interval of the logarithms over the starts, each with the median of
 * its turns: turns of one start do not count as independent, because the code that the compiler happened to
 * make of a process, and its place in memory, stay with the process and move its cost by themselves.
 */
export function ratioInterval(starts: readonly (readonly number[])[]): RatioInterval {
  if (starts.length > STARTS_MAX) throw new Error(`more than ${STARTS_MAX} starts`);
  const logarithms = starts.map((turns) => median(turns.map(Math.log)));
  const count = logarithms.length;
  const mean = logarithms.reduce((sum, value) => sum + value, 0) / count;
  const squares = logarithms.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  const quantile = T_QUANTILES[count - 2] ?? Number.NaN;
  const reach = quantile * Math.sqrt(squares / (count - 1) / count);
  return { ratio: Math.exp(mean), low: Math.exp(mean - reach), high: Math.exp(mean + reach) };
}

/** Text of the interval for a table; a dash where there are too few starts for one. */
export function intervalText({ low, high }: RatioInterval): string {
  return Number.isNaN(low) ? '-' : `${low.toFixed(3)} to ${high.toFixed(3)}`;
}
