// Health of a release: rates of the signals with their intervals, compared with the guards of its plan.

import {
  type Health,
  type PlanGuards,
  SIGNALS,
  type Signal,
  type SignalRate,
} from '../../contract/rollout-plan.ts';
import { measureSignal, type SignalMeasure } from './measure-signal.ts';
import type { SignalCounts, SilentOthers } from './signal-counts.ts';

/** What the judgement needs beside the counts. */
export type HealthContext = {
  /** Guards of its plan; null without a plan, or for a plan without guards. */
  readonly guards: PlanGuards | null;
  /** Signals for which its plan is held. */
  readonly tripped: readonly Signal[];
  /** The other devices when there were last enough of them; null before. */
  readonly silentOthers: SilentOthers | null;
  readonly isOffered: boolean;
};

/** A signal, and why its guard trips or cannot judge. */
export type GuardFinding = { readonly signal: Signal; readonly reason: string };

export type JudgedHealth = {
  readonly health: Health;
  /** Devices of each rate's base that show the signal; `health` also counts silent ones outside of it. */
  readonly hits: Readonly<Record<Signal, number>>;
  /** Signals whose guard's condition holds. */
  readonly exceeded: readonly GuardFinding[];
  /** Signals with a limit but too few devices to judge. */
  readonly blind: readonly GuardFinding[];
  /** The other devices to compare with from now on; null while there were never enough. */
  readonly silentOthers: SilentOthers | null;
};

/**
 * Judges the counts of a release. A guard's condition holds if its signal's base has the minimum of devices
 * and the lower end of its interval is above the limit, so that even the lowest plausible rate is too high.
 * It must also hold without the devices of any one network that has at most half of the base, so that no
 * single outsider can make it hold.
 */
export function judgeHealth(counts: SignalCounts, context: HealthContext): JudgedHealth {
  const { guards, tripped, isOffered } = context;
  const minimumDevices = guards?.minimumDevices ?? USUAL_GUARDS.minimumDevices;
  const { others } = counts;
  const hasOthers = others.devices > 0 && others.devices * others.scale >= minimumDevices;
  const silentOthers = hasOthers ? others : context.silentOthers;
  const judged = SIGNALS.map((signal) => {
    const measure = measureSignal(signal, counts, silentOthers);
    const limit = guards?.[`${signal}Percent`] ?? null;
    return { signal, measure, limit, isSmall: measure.devices < minimumDevices };
  });
  const exceeded: GuardFinding[] = [];
  const blind: GuardFinding[] = [];
  for (const { signal, measure, limit, isSmall } of judged) {
    if (limit === null) continue;
    const hasNone = signal === 'silent' && silentOthers === null;
    const needed = `and its guard needs ${minimumDevices}`;
    if (isSmall) {
      blind.push({
        signal,
        reason: `${signal}: ${measure.devices} devices to judge by, ${needed}`,
      });
    } else if (hasNone) {
      const there = `${Math.round(others.devices * others.scale)} other devices to compare with`;
      blind.push({ signal, reason: `${signal}: ${there}, ${needed}` });
    } else if (measure.low > limit && measure.lowestWithout > limit) {
      exceeded.push({ signal, reason: exceededText(signal, measure, limit) });
    }
  }
  const isEarly = judged.some(
    ({ limit, isSmall }) => isSmall && (guards === null || limit !== null),
  );
  const isBad = exceeded.length > 0 || tripped.length > 0;
  const calm = isEarly || blind.length > 0 || !isOffered ? 'too early' : 'healthy';
  const { offered, installed, failed, reverted } = counts;
  const [stuck, silent] = [counts.stuck, counts.silent].map((count) =>
    Math.round(count * counts.scale),
  ) as [number, number];
  const rates = Object.fromEntries(
    judged.map(({ signal, measure, limit }) => [
      signal,
      rateOf(measure, limit, tripped.includes(signal)),
    ]),
  ) as Record<Signal, SignalRate>;
  const hits = Object.fromEntries(
    judged.map(({ signal, measure }) => [signal, Math.round(measure.hits * measure.scale)]),
  ) as Record<Signal, number>;
  const verdict = isBad ? 'unhealthy' : calm;
  return {
    health: { offered, installed, failed, reverted, stuck, silent, rates, verdict },
    ...{ hits, exceeded, blind, silentOthers },
  };
}

/** Defaults of the signals for a release without a plan, and of a plan's guards. */
export const USUAL_GUARDS = {
  minimumDevices: 100,
  stuckAfterMinutes: 1440,
  silentAfterMinutes: 1440,
  knownForMinutes: 1440,
  confirmMinutes: 10,
} as const satisfies PlanGuards;

function rateOf(measure: SignalMeasure, limit: number | null, tripped: boolean): SignalRate {
  const { devices, percent, low, high } = measure;
  return {
    base: devices,
    ...{ percent: rounded(percent), low: rounded(low), high: rounded(high), limit, tripped },
  };
}

/** Returns why the condition of a guard holds, for people. */
function exceededText(signal: Signal, measure: SignalMeasure, limit: number): string {
  const { hits, base, scale, less, networks } = measure;
  const lookedAt = scale > 1 ? ' that were looked at' : '';
  const from = networks === 0 ? '' : ` from ${networks} network${networks === 1 ? '' : 's'}`;
  const count = `${signal}: ${hits} of ${base} devices${lookedAt}${from}`;
  const [plain, percent] = [
    rounded(base === 0 ? 0 : (hits / base) * 100),
    rounded(measure.percent),
  ];
  const share =
    less === undefined || less.silent === 0
      ? `${percent} %`
      : `${plain} %, less ${rounded((less.silent / less.devices) * 100)} % ` +
        `(${less.silent} of ${less.devices} other devices): ${percent} %`;
  const interval = `95 % interval ${rounded(measure.low)} to ${rounded(measure.high)} %`;
  return `${count}, ${share} (${interval}), above the limit of ${limit} %`;
}

function rounded(percent: number): number {
  return Math.round(percent * 10) / 10;
}
