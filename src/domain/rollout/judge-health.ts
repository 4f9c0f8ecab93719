// Health of a release: rates of the signals with their intervals, compared with the guards of its plan.

import { SIGNALS } from '../../contract/choice.ts';
import type { Health, PlanGuards, Signal, SignalRate } from '../../contract/rollout-plan.ts';
import {
  currentOthers,
  judgeNetworks,
  type NeededNetwork,
  type NetworkJudgement,
} from './judge-networks.ts';
import { measureSignal, type SignalMeasure } from './measure-signal.ts';
import type { SignalCounts, SilentOthers } from './signal-counts.ts';

/** Input of the judgement, apart from the counts. */
export type HealthContext = {
  /** Guards of the release's plan; null if it has no plan, or if the plan has no guards. */
  readonly guards: PlanGuards | null;
  /** Signals for which its plan is held. */
  readonly tripped: readonly Signal[];
  /** The channel's other devices at the last check that had enough of them; null before the first. */
  readonly silentOthers: SilentOthers | null;
  readonly isOffered: boolean;
};

/** A signal, and why its guard trips or cannot judge. */
export type GuardFinding = { readonly signal: Signal; readonly reason: string };

export type JudgedHealth = {
  readonly health: Health;
  /** Devices of each rate's base that show the signal; `health` also counts silent ones outside it. */
  readonly hits: Readonly<Record<Signal, number>>;
  /** Signals whose guard's condition holds. */
  readonly exceeded: readonly GuardFinding[];
  /**
   * Signals whose guard's condition holds with all devices, but cannot be judged without some network,
   * because too few devices are left.
   */
  readonly undecided: readonly GuardFinding[];
  /** Signals with a limit but too few devices to judge. */
  readonly blind: readonly GuardFinding[];
  /** The other devices to compare with from now on; null while there were never enough. */
  readonly silentOthers: SilentOthers | null;
};

/**
 * Judges the counts of a release. A guard's condition holds if its signal's base has the minimum of devices
 * and the lower end of its interval is above the limit, so that even the lowest plausible rate is too high.
 * It must also hold without the devices of each single network, so that no single outsider can make it hold.
 */
export function judgeHealth(counts: SignalCounts, context: HealthContext): JudgedHealth {
  const { guards, tripped, isOffered } = context;
  const minimumDevices = guards?.minimumDevices ?? USUAL_GUARDS.minimumDevices;
  const silentOthers = currentOthers(counts, context.silentOthers, minimumDevices);
  const judged = SIGNALS.map((signal) =>
    judgeSignal(signal, counts, guards, minimumDevices, silentOthers),
  );
  const { exceeded, undecided, blind } = findingsOf(judged, counts, minimumDevices);
  const isEarly = judged.some(
    ({ limit, isSmall }) => isSmall && (guards === null || limit !== null),
  );
  const isBad = exceeded.length > 0 || tripped.length > 0;
  const isUnclear = isEarly || blind.length > 0 || undecided.length > 0;
  const calm = isUnclear || !isOffered ? 'too early' : 'healthy';
  const { offered, installed, failed, reverted } = counts;
  const [stuck, silent] = [counts.stuck, counts.silent].map((count) =>
    Math.round(count * counts.scale),
  ) as [number, number];
  const rates = Object.fromEntries(
    judged.map(({ signal, measure, limit, networks }) => {
      const network = networks?.kind === 'undecided' ? shareOf(networks.needed, measure) : null;
      return [signal, { ...rateOf(measure), limit, tripped: tripped.includes(signal), network }];
    }),
  ) as Record<Signal, SignalRate>;
  const hits = Object.fromEntries(
    judged.map(({ signal, measure }) => [signal, Math.round(measure.hits * measure.scale)]),
  ) as Record<Signal, number>;
  const verdict = isBad ? 'unhealthy' : calm;
  return {
    health: { offered, installed, failed, reverted, stuck, silent, rates, verdict },
    ...{ hits, exceeded, undecided, blind, silentOthers },
  };
}

/** Settings of the signals for a release that has no plan, and defaults for a plan's guards. */
export const USUAL_GUARDS = {
  minimumDevices: 100,
  stuckAfterMinutes: 1440,
  silentAfterMinutes: 1440,
  knownForMinutes: 1440,
  confirmMinutes: 10,
} as const satisfies PlanGuards;

type JudgedSignal = {
  readonly signal: Signal;
  readonly measure: SignalMeasure;
  readonly limit: number | null;
  /** Whether its base has too few devices. */
  readonly isSmall: boolean;
  /** Whether there never were enough other devices to compare with. */
  readonly hasNone: boolean;
  /** Judgement without each single network; undefined unless the condition holds with all devices. */
  readonly networks: NetworkJudgement | undefined;
};

function judgeSignal(
  signal: Signal,
  counts: SignalCounts,
  guards: PlanGuards | null,
  minimumDevices: number,
  silentOthers: SilentOthers | null,
): JudgedSignal {
  const measure = measureSignal(signal, counts, silentOthers);
  const limit = guards?.[`${signal}Percent`] ?? null;
  const isSmall = measure.devices < minimumDevices;
  const hasNone = signal === 'silent' && silentOthers === null;
  const isAbove = limit !== null && !isSmall && !hasNone && measure.low > limit;
  const others = { present: counts.others, last: silentOthers?.without };
  const networks = isAbove
    ? judgeNetworks(measure, counts.networks[signal].parts, limit, minimumDevices, others)
    : undefined;
  return { signal, measure, limit, isSmall, hasNone, networks };
}

/** Gives the reason for each guard whose condition holds, that is undecided or that cannot judge. */
function findingsOf(
  judged: readonly JudgedSignal[],
  counts: SignalCounts,
  minimumDevices: number,
): Pick<JudgedHealth, 'exceeded' | 'undecided' | 'blind'> {
  const exceeded: GuardFinding[] = [];
  const undecided: GuardFinding[] = [];
  const blind: GuardFinding[] = [];
  const needs = `and its guard needs ${minimumDevices}`;
  for (const { signal, measure, limit, isSmall, hasNone, networks } of judged) {
    if (limit === null) continue;
    if (isSmall) {
      const reason = `${signal}: ${measure.devices} devices to judge by, ${needs}`;
      blind.push({ signal, reason });
    } else if (hasNone) {
      const there = `${Math.round(counts.others.devices * counts.others.scale)} other devices`;
      blind.push({ signal, reason: `${signal}: ${there} to compare with, ${needs}` });
    } else if (networks?.kind === 'held by all') {
      exceeded.push({ signal, reason: exceededText(signal, measure, counts, limit) });
    } else if (networks?.kind === 'undecided') {
      const above = exceededText(signal, measure, counts, limit);
      const needed = neededText(networks.needed, measure);
      undecided.push({ signal, reason: `${above}; ${needed}, ${needs}` });
    }
  }
  return { exceeded, undecided, blind };
}

function rateOf({ devices, percent, low, high }: SignalMeasure) {
  return { base: devices, percent: rounded(percent), low: rounded(low), high: rounded(high) };
}

/** Returns a network's devices, and those that show the signal, scaled up from the examined ones. */
function shareOf({ part }: NeededNetwork, { scale }: SignalMeasure) {
  const base = Math.round(part.base * scale);
  // Hits may exceed the base: without the network, fewer failures of other addresses may count.
  return { count: Math.min(Math.round(part.hits * scale), base), base };
}

/** Says which network is needed, and how many devices are left without it. */
function neededText(needed: NeededNetwork, measure: SignalMeasure): string {
  const { part, left, areOthers } = needed;
  const { count, base } = shareOf(needed, measure);
  const own = `${count} of its ${base} devices`;
  return areOthers
    ? `without one network (${own}, and ${part.others ?? 0} of the others) ${left} other devices to ` +
        'compare with are left'
    : `without one network (${own}) ${left} devices to judge by are left`;
}

/** Returns why the condition of a guard holds, for people. */
function exceededText(
  signal: Signal,
  measure: SignalMeasure,
  counts: SignalCounts,
  limit: number,
): string {
  const { hits, base, scale, less } = measure;
  const networks = counts.networks[signal].count;
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
