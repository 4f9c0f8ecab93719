// Measures one signal: its rate and the interval, of all its devices, or of those outside one network.

import type { Signal } from '../../contract/rollout-plan.ts';
import type { OtherDevices, SignalCounts } from './signal-counts.ts';
import { differenceInterval, type Interval, percentOf, wilsonInterval } from './wilson-interval.ts';

/** Measure in percent: `hits` of `base` examined devices. */
export type SignalMeasure = Interval & {
  readonly hits: number;
  readonly base: number;
  /** Number of devices that each device of the base stands for, and their total. */
  readonly scale: number;
  readonly devices: number;
  readonly percent: number;
  /** The other devices whose rate was subtracted. */
  readonly less: OtherDevices | undefined;
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
  others: OtherDevices | null,
): SignalMeasure {
  const compared = signal === 'silent' ? counts.compared : undefined;
  const base = compared?.base ?? baseOf(counts, signal);
  // A count may be read a moment later than its base.
  const hits = Math.min(Math.max(compared?.hits ?? counts[signal], 0), base);
  const scale = signal === 'stuck' || signal === 'silent' ? counts.scale : 1;
  const less = signal === 'silent' ? (others ?? undefined) : undefined;
  return measured(hits, base, scale, less);
}

/** Measures a signal again without the devices of `part`, compared with the other devices `less`. */
export function measureWithout(
  { hits, base, scale }: SignalMeasure,
  part: { readonly hits: number; readonly base: number },
  less: OtherDevices | undefined,
): SignalMeasure {
  const left = Math.max(base - part.base, 0);
  return measured(Math.min(Math.max(hits - part.hits, 0), left), left, scale, less);
}

function measured(
  hits: number,
  base: number,
  scale: number,
  less: OtherDevices | undefined,
): SignalMeasure {
  return { ...rate(hits, base, less), hits, base, scale, devices: Math.round(base * scale), less };
}

function rate(hits: number, base: number, less: OtherDevices | undefined) {
  if (base <= 0) return { percent: 0, low: 0, high: 0 };
  const one = { hits, trials: base };
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
