// The platforms and versions with the most devices that show a signal.

import type { GuardPlatform } from '../../contract/notification.ts';
import type { Signal, SignalBreakdown, SignalPlaces } from '../../contract/rollout-plan.ts';
import { percentOf, wilsonInterval } from './wilson-interval.ts';

const NAMED_MAX = 5;

/** Devices of one platform or version, per signal: those that show it, and its base. */
export type PlaceCounts = {
  readonly dimension: 'platform' | 'version';
  readonly name: string;
} & Readonly<Record<Signal | `${Signal}Base`, number>>;

/** Groups counts by platform and by version for each signal. A device counts once in each. */
export function failurePlaces(
  counts: readonly PlaceCounts[],
): Readonly<Record<Signal, SignalBreakdown>> {
  const platforms = counts.filter(({ dimension }) => dimension === 'platform');
  const versions = counts.filter(({ dimension }) => dimension === 'version');
  const breakdownOf = (signal: Signal): SignalBreakdown => ({
    ...sumOf(platforms, signal),
    platforms: placesOf(platforms, signal),
    versions: placesOf(versions, signal),
  });
  return {
    failed: breakdownOf('failed'),
    reverted: breakdownOf('reverted'),
    stuck: breakdownOf('stuck'),
    silent: breakdownOf('silent'),
  };
}

/**
 * Returns the platform that shows a signal most: its share is above that of all devices, and the lower end of
 * its interval is the highest, so it is no rare platform with a single device. Null if there is none.
 */
export function worstPlatform({ devices, base, platforms }: SignalBreakdown): GuardPlatform | null {
  const lowest = (each: { readonly devices: number; readonly base: number }) =>
    wilsonInterval(each.devices, each.base).low;
  const [worst] = platforms.named
    .filter((each) => each.name !== '' && each.devices * base > devices * each.base)
    .sort((left, right) => lowest(right) - lowest(left));
  if (worst === undefined) return null;
  const percent = percentOf({ hits: worst.devices, trials: worst.base });
  return { ...worst, percent: Math.round(percent * 10) / 10 };
}

function placesOf(counts: readonly PlaceCounts[], signal: Signal): SignalPlaces {
  const base = `${signal}Base` as const;
  const sorted = counts
    .filter((each) => each[base] > 0 || each[signal] > 0)
    .sort(
      (left, right) =>
        right[signal] - left[signal] ||
        right[base] - left[base] ||
        (left.name < right.name ? -1 : 1),
    );
  const others = sorted.slice(NAMED_MAX);
  return {
    named: sorted
      .slice(0, NAMED_MAX)
      .map((each) => ({ name: each.name, devices: each[signal], base: each[base] })),
    others: others.length === 0 ? null : sumOf(others, signal),
  };
}

function sumOf(counts: readonly PlaceCounts[], signal: Signal) {
  return {
    devices: counts.reduce((sum, each) => sum + each[signal], 0),
    base: counts.reduce((sum, each) => sum + each[`${signal}Base`], 0),
  };
}
