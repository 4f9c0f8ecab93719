// Health of a release: rates of the signals with their intervals, against the limits of a plan's guards.

import {
  type Health,
  type PlanGuards,
  SIGNALS,
  type Signal,
  type SignalRate,
} from '../../contract/rollout-plan.ts';
import { type Interval, wilsonInterval } from './wilson-interval.ts';

/**
 * Numbers of devices of a release, all of them known long enough before it was published. Bases are those
 * that a signal could have shown by now.
 */
export type SignalCounts = {
  readonly offered: number;
  readonly installed: number;
  readonly failed: number;
  readonly reverted: number;
  /** Stuck ones and silent ones of the devices that were looked at. */
  readonly stuck: number;
  readonly silent: number;
  /** Devices that were looked at and offered the release long enough ago to be stuck. */
  readonly stuckBase: number;
  /** Devices that were looked at and installed the release, or were offered it, long enough ago. */
  readonly silentBase: number;
  /** Number of devices that each of those that were looked at stands for; 1 when all were. */
  readonly scale: number;
  /** The channel's other devices, seen since the release was published, and those of them that are silent. */
  readonly others: { readonly devices: number; readonly silent: number };
};

/** What is known of a release beside its counts. */
export type HealthContext = {
  /** Guards of its plan; null without a plan, or for one without guards. */
  readonly guards: PlanGuards | null;
  /** Signals for which its plan is held. */
  readonly tripped: readonly Signal[];
  /** Share of silent ones among the other devices, when there last were enough of them; null before. */
  readonly silentShare: number | null;
};

export type JudgedHealth = {
  readonly health: Health;
  /** Signals whose interval lies above their limit. */
  readonly exceeded: readonly Signal[];
  /** Share of silent ones among the other devices to go by next; null while there were never enough. */
  readonly silentShare: number | null;
};

/**
 * Judges the counts of a release. A signal is exceeded when its base has the minimum of devices and the lower
 * end of its interval is above its limit: then even the lowest rate that goes with the figures is too much.
 * Silence is normal to some extent, as devices are switched off, so that the share of silent ones among the
 * other devices is taken off its rate and off both ends of its interval.
 */
export function judgeHealth(counts: SignalCounts, context: HealthContext): JudgedHealth {
  const { guards, tripped } = context;
  const minimumDevices = guards?.minimumDevices ?? USUAL_GUARDS.minimumDevices;
  const silentShare = shareOf(counts.others, minimumDevices) ?? context.silentShare;
  const exceeded: Signal[] = [];
  const rateOf = (signal: Signal): SignalRate => {
    const base = baseOf(counts, signal);
    const less = signal === 'silent' ? (silentShare ?? 0) * 100 : 0;
    const { percent, low, high } = measure(counts[signal], base, less);
    const limit = limitOf(guards, signal);
    const devices = base * scaleOf(counts, signal);
    if (limit !== null && devices >= minimumDevices && low > limit) exceeded.push(signal);
    return {
      ...{ percent: rounded(percent), low: rounded(low), high: rounded(high), limit },
      tripped: tripped.includes(signal),
    };
  };
  const rates = {
    failed: rateOf('failed'),
    reverted: rateOf('reverted'),
    stuck: rateOf('stuck'),
    silent: rateOf('silent'),
  };
  const { offered, installed, failed, reverted } = counts;
  const [stuck, silent] = [counts.stuck, counts.silent].map((count) =>
    Math.round(count * counts.scale),
  ) as [number, number];
  const calm = offered < minimumDevices ? 'too early' : 'healthy';
  const verdict = exceeded.length > 0 ? 'unhealthy' : calm;
  return {
    health: { offered, installed, failed, reverted, stuck, silent, rates, verdict },
    exceeded,
    silentShare,
  };
}

/** Counts of a release of which nothing is recorded yet. */
export const NO_SIGNALS: SignalCounts = {
  offered: 0,
  installed: 0,
  failed: 0,
  reverted: 0,
  stuck: 0,
  silent: 0,
  stuckBase: 0,
  silentBase: 0,
  scale: 1,
  others: { devices: 0, silent: 0 },
};

/** How the signals of a release without a plan are taken, and what a plan takes that says nothing else. */
export const USUAL_GUARDS = {
  minimumDevices: 30,
  stuckAfterMinutes: 1440,
  silentAfterMinutes: 1440,
  knownForMinutes: 1440,
  confirmMinutes: 10,
} as const satisfies PlanGuards;

/** Returns the limit of a signal in percent; null when it has none. */
function limitOf(guards: PlanGuards | null, signal: Signal): number | null {
  return guards?.[`${signal}Percent`] ?? null;
}

/** Returns the number of devices that a signal is taken over. */
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

/** Returns how many devices each of those in a signal's base stands for. */
function scaleOf(counts: SignalCounts, signal: Signal): number {
  return signal === 'stuck' || signal === 'silent' ? counts.scale : 1;
}

/** Says in words and figures why the guards of these signals trip. */
export function tripText(health: Health, counts: SignalCounts, signals: readonly Signal[]): string {
  const parts = SIGNALS.filter((signal) => signals.includes(signal)).map((signal) => {
    const { percent, low, high, limit } = health.rates[signal];
    const base = baseOf(counts, signal);
    const lookedAt = scaleOf(counts, signal) > 1 ? ' that were looked at' : '';
    return (
      `${signal}: ${counts[signal]} of ${base} devices${lookedAt}, ${percent} % ` +
      `(95 % interval ${low} to ${high} %), above the limit of ${limit} %`
    );
  });
  return parts.join('; ');
}

type Measure = Interval & { readonly percent: number };

function measure(hits: number, base: number, less: number): Measure {
  if (base <= 0) return { percent: 0, low: 0, high: 0 };
  // A count that is read beside its base may be a moment newer.
  const counted = Math.min(Math.max(hits, 0), base);
  const { low, high } = wilsonInterval(counted, base);
  const lessened = (percent: number) => Math.max(percent - less, 0);
  return {
    percent: lessened((counted / base) * 100),
    low: lessened(low),
    high: lessened(high),
  };
}

function shareOf(others: SignalCounts['others'], minimumDevices: number): number | undefined {
  if (others.devices < minimumDevices || others.devices === 0) return undefined;
  return Math.min(Math.max(others.silent / others.devices, 0), 1);
}

function rounded(percent: number): number {
  return Math.round(percent * 10) / 10;
}
