// Measures one signal: its rate, the interval, and the lowest interval without one of the networks.

import type { Signal } from '../../contract/rollout-plan.ts';
import type { SignalCounts, SilentOthers } from './signal-counts.ts';
import { differenceInterval, type Interval, percentOf, wilsonInterval } from './wilson-interval.ts';

/** Maximum share of the base for a network to be left out: a larger network is the fleet itself. */
const NETWORK_SHARE_MAX = 0.5;

/** Measure in percent: `hits` of `base` examined devices. */
export type SignalMeasure = Interval & {
  readonly hits: number;
  readonly base: number;
  /** Number of devices that each device of the base stands for, and their total. */
  readonly scale: number;
  readonly devices: number;
  readonly percent: number;
  /** The other devices whose rate was subtracted. */
  readonly less: SilentOthers | undefined;
  /** Lowest `low` without the devices of one network that has at most half of the base. */
  readonly lowestWithout: number;
  /** Number of networks that the signal comes from; 0 if none is known. */
  readonly networks: number;
};

/**
 * Measures a signal. Some silence is normal, because devices are switched off: the rate of `silent` is the
 * difference from the rate of the other devices, with the interval of such a difference; without other
 * devices it is the plain rate. Both cover devices seen since the same moment: otherwise one that a step
 * reached on a Friday would be silent on Sunday, compared with others seen on Saturday.
 */
export function measureSignal(
  signal: Signal,
  counts: SignalCounts,
  silentOthers: SilentOthers | null,
): SignalMeasure {
  const compared = signal === 'silent' ? counts.compared : undefined;
  const base = compared?.base ?? baseOf(counts, signal);
  // A count may be read a moment later than its base.
  const hits = Math.min(Math.max(compared?.hits ?? counts[signal], 0), base);
  const scale = signal === 'stuck' || signal === 'silent' ? counts.scale : 1;
  const less = signal === 'silent' ? (silentOthers ?? undefined) : undefined;
  const { count, largest } = counts.networks[signal];
  const whole = rate(hits, base, less);
  const without = largest
    .filter((part) => part.base <= base * NETWORK_SHARE_MAX)
    .map((part) => rate(Math.max(hits - part.hits, 0), Math.max(base - part.base, 0), less).low);
  return {
    ...whole,
    ...{ hits, base, scale, devices: Math.round(base * scale), less, networks: count },
    lowestWithout: Math.min(whole.low, ...without),
  };
}

function rate(hits: number, base: number, less: SilentOthers | undefined) {
  if (base <= 0) return { percent: 0, low: 0, high: 0 };
  const one = { hits: Math.min(hits, base), trials: base };
  const percent = percentOf(one);
  if (less === undefined) return { percent, ...wilsonInterval(one.hits, one.trials) };
  const other = { hits: less.silent, trials: less.devices };
  const { low, high } = differenceInterval(one, other);
  return { percent: cut(percent - percentOf(other)), low: cut(low), high: cut(high) };
}

function cut(percent: number): number {
  return Math.min(Math.max(percent, 0), 100);
}

/** Returns the number of devices that could show a signal. */
function baseOf(counts: SignalCounts, signal: Signal): number {
  switch (signal) {
    case 'failed':
      return counts.offered;
    case 'reverted':
      return counts.installed;
    case 'stuck':
      return counts.stuckBase;
    case 'silent':
      return counts.silentBase;
  }
}
