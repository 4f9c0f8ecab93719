// Interval of a rate that was measured on some devices.

/** Quantile of the standard normal distribution for two sides of 2.5 % each. */
const Z = 1.959963984540054;

/** Interval of a rate, in percent. */
export type Interval = { readonly low: number; readonly high: number };

/**
 * Returns the 95 % score interval of the rate `hits / trials`, in percent:
 *
 *   (p + z²/2n ± z √(p(1 − p)/n + z²/4n²)) / (1 + z²/n),  p = hits / trials, n = trials, z = 1.96
 *
 * It holds what it promises for small numbers and for rates near 0, where the interval p ± z √(p(1 − p)/n)
 * has no width. Without a trial it is 0 to 0, because nothing was measured. Source: E. B. Wilson, "Probable
 * Inference, the Law of Succession, and Statistical Inference", Journal of the American Statistical
 * Association 22 (1927), 209–212; recommended by L. D. Brown, T. T. Cai and A. DasGupta, "Interval Estimation
 * for a Binomial Proportion", Statistical Science 16 (2001), 101–133.
 */
export function wilsonInterval(hits: number, trials: number): Interval {
  if (trials <= 0) return { low: 0, high: 0 };
  const rate = Math.min(Math.max(hits / trials, 0), 1);
  const weight = Z ** 2 / trials;
  const middle = rate + weight / 2;
  const half = Z * Math.sqrt((rate * (1 - rate)) / trials + weight / (4 * trials));
  const end = (sum: number) => Math.min(Math.max(sum / (1 + weight), 0), 1) * 100;
  // Exactly 0 and 100 at the ends: the sums may miss them by a rounding.
  const low = hits <= 0 ? 0 : end(middle - half);
  const high = hits >= trials ? 100 : end(middle + half);
  return { low, high };
}
