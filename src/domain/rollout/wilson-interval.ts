// Interval of a measured rate.

/** Quantile of the standard normal distribution for 2.5 % on each side. */
const Z = 1.959963984540054;

/** In percent. */
export type Interval = { readonly low: number; readonly high: number };

/**
 * Returns the 95 % score interval of the rate `hits / trials`, in percent:
 *
 *   (p + z²/2n ± z √(p(1 − p)/n + z²/4n²)) / (1 + z²/n),  p = hits / trials, n = trials, z = 1.96
 *
 * It stays accurate for small numbers and for rates near 0, where the interval p ± z √(p(1 − p)/n) has no
 * width. Without trials it is 0 to 0. Source: E. B. Wilson, "Probable Inference, the Law of Succession, and
 * Statistical Inference", Journal of the American Statistical Association 22 (1927), 209–212; recommended by
 * L. D. Brown, T. T. Cai and A. DasGupta, "Interval Estimation for a Binomial Proportion", Statistical
 * Science 16 (2001), 101–133.
 */
export function wilsonInterval(hits: number, trials: number): Interval {
  if (trials <= 0) return { low: 0, high: 0 };
  const rate = Math.min(Math.max(hits / trials, 0), 1);
  const weight = Z ** 2 / trials;
  const middle = rate + weight / 2;
  const half = Z * Math.sqrt((rate * (1 - rate)) / trials + weight / (4 * trials));
  const end = (sum: number) => Math.min(Math.max(sum / (1 + weight), 0), 1) * 100;
  // Exactly 0 and 100 at the ends, which the sums may miss by rounding.
  const low = hits <= 0 ? 0 : end(middle - half);
  const high = hits >= trials ? 100 : end(middle + half);
  return { low, high };
}

export type Share = { readonly hits: number; readonly trials: number };

/**
 * Returns the 95 % interval of the difference of two shares, in percent, from the intervals of both:
 *
 *   p₁ − p₂ − √((p₁ − l₁)² + (u₂ − p₂)²)  to  p₁ − p₂ + √((u₁ − p₁)² + (p₂ − l₂)²)
 *
 * Neither share counts as exact. Source: R. G. Newcombe, "Interval estimation for the difference between
 * independent proportions", Statistics in Medicine 17 (1998), 873–890, method 10.
 */
export function differenceInterval(one: Share, other: Share): Interval {
  const [p1, p2] = [percentOf(one), percentOf(other)];
  const [first, second] = [
    wilsonInterval(one.hits, one.trials),
    wilsonInterval(other.hits, other.trials),
  ];
  return {
    low: p1 - p2 - Math.hypot(p1 - first.low, second.high - p2),
    high: p1 - p2 + Math.hypot(first.high - p1, p2 - second.low),
  };
}

/** Returns a share in percent; 0 without trials. */
export function percentOf({ hits, trials }: Share): number {
  return trials <= 0 ? 0 : (hits / trials) * 100;
}
