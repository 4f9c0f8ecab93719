// The ratio of two builds from the blocks of several processes, and its interval.

import { median, tQuantile } from '../measure/statistics.ts';
import { seededRandom } from '../random.ts';

/** Logarithms of the ratios of a process's blocks, and the build that it loaded first. */
export type ProcessBlocks = { readonly first: 0 | 1; readonly logRatios: readonly number[] };

const RESAMPLES = 2000;
const SEED = 1;

/**
 * Median ratio with its 95 % interval. The build that is loaded first is at an advantage or at a
 * disadvantage, so the processes count by order of loading, each order half; a process counts with the median
 * of its blocks. The interval is a bootstrap over the processes of each order: what the compiler made of a
 * process stays with it, and the scatter of its blocks is in its median. So few processes know their own
 * spread badly: the error of the bootstrap is taken as that of a t distribution.
 */
export function priceInterval(processes: readonly ProcessBlocks[]) {
  const orders = ([0, 1] as const)
    .map((first) => processes.filter((each) => each.first === first))
    .filter(({ length }) => length > 0)
    .map((order) => order.map(({ logRatios }) => median(logRatios)));
  const centre = mean(orders.map(mean));
  const random = seededRandom(SEED);
  const draw = (values: readonly number[]) =>
    values.map(() => values[Math.floor(random() * values.length)] ?? Number.NaN);
  let squares = 0;
  for (let resample = 0; resample < RESAMPLES; resample++) {
    const errors = orders.map((order) => {
      // Resampling few processes shows less than their spread.
      const missing = Math.sqrt(order.length / Math.max(1, order.length - 1));
      return (mean(draw(order)) - mean(order)) * missing;
    });
    squares += mean(errors) ** 2;
  }
  const reach = tQuantile(processes.length - orders.length) * Math.sqrt(squares / RESAMPLES);
  return { ratio: Math.exp(centre), low: Math.exp(centre - reach), high: Math.exp(centre + reach) };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
