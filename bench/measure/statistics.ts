// Statistics over the rounds of a benchmark: medians, and the ratio of two sides with its interval.

const T_QUANTILES = [
  ...[12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16],
  ...[2.145, 2.131],
];
export const STARTS_MAX = T_QUANTILES.length + 1;

/** Reach of a 95 % interval in standard errors; NaN without a degree of freedom. */
export function tQuantile(degrees: number): number {
  return T_QUANTILES[degrees - 1] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right);
  const upper = sorted[sorted.length >> 1] ?? Number.NaN;
  const lower = sorted[(sorted.length - 1) >> 1] ?? Number.NaN;
  return (lower + upper) / 2;
}

export function medianRatio(values: readonly number[], bases: readonly number[]): number {
  return median(values.map((value, index) => value / (bases[index] ?? Number.NaN)));
}

/**
 * Mean ratio with its 95 % interval. `starts` has, for each time that both sides were started anew, the
 * ratios of the turns since. It is a t interval of the logarithms over the starts, each with the median of
 * its turns, which are not independent: what the compiler made of a process stays with it.
 */
export function ratioInterval(starts: readonly (readonly number[])[]) {
  if (starts.length > STARTS_MAX) throw new Error(`more than ${STARTS_MAX} starts`);
  const logarithms = starts.map((turns) => median(turns.map(Math.log)));
  const count = logarithms.length;
  const mean = logarithms.reduce((sum, value) => sum + value, 0) / count;
  const squares = logarithms.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  const reach = tQuantile(count - 1) * Math.sqrt(squares / (count - 1) / count);
  return { ratio: Math.exp(mean), low: Math.exp(mean - reach), high: Math.exp(mean + reach) };
}

/** Text of an interval for a table; a dash where there are too few starts for one. */
export function intervalText({ low, high }: ReturnType<typeof ratioInterval>): string {
  return Number.isNaN(low) ? '-' : `${low.toFixed(3)} to ${high.toFixed(3)}`;
}
