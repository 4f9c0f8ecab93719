// What one network contributes to a guard's condition. Anybody can invent devices, up to the limit of new
// devices per network, so what a single network shows does not stop a release.

import { measureWithout, type SignalMeasure } from './measure-signal.ts';
import type { NetworkPart, OtherDevices, SignalCounts, SilentOthers } from './signal-counts.ts';

/** A network without which too few devices are left to judge by. */
export type NeededNetwork = {
  readonly part: NetworkPart;
  /** Devices that are left without it. */
  readonly left: number;
  /** Whether `left` counts the other devices, with which silent ones are compared. */
  readonly areOthers: boolean;
};

/** Judgement of a guard's condition that holds with all devices, without each single network. */
export type NetworkJudgement =
  /** The condition holds whichever network is left out. */
  | { readonly kind: 'held by all' }
  /** The condition does not hold if one certain network is left out. */
  | { readonly kind: 'held by one' }
  | { readonly kind: 'undecided'; readonly needed: NeededNetwork };

/**
 * Judges a guard's condition, which holds with all devices, without the devices of each single network.
 * Silent devices are compared with the other devices outside the network; if those are too few, with the last
 * ones that were enough without each network.
 */
export function judgeNetworks(
  measure: SignalMeasure,
  parts: readonly NetworkPart[],
  limit: number,
  minimumDevices: number,
  others: { readonly present: OtherDevices; readonly last: OtherDevices | undefined },
): NetworkJudgement {
  let needed: NeededNetwork | undefined;
  let isHeldByAll = true;
  // A network that was among the last others may be in none of the present parts.
  const isLast = measure.less !== undefined && !isEnough(others.present, minimumDevices);
  for (const part of isLast ? [...parts, NO_PART] : parts) {
    const present = othersWithout(others.present, part);
    const less = isEnough(present, minimumDevices) ? present : others.last;
    const without = measureWithout(measure, part, measure.less && less);
    if (without.devices < minimumDevices) {
      needed = fewer(needed, { part, left: without.devices, areOthers: false });
    } else if (measure.less !== undefined && less === undefined) {
      const left = Math.round(present.devices * present.scale);
      needed = fewer(needed, { part, left, areOthers: true });
    } else if (without.low <= limit) isHeldByAll = false;
  }
  if (needed !== undefined) return { kind: 'undecided', needed };
  return { kind: isHeldByAll ? 'held by all' : 'held by one' };
}

const NO_PART: NetworkPart = { hits: 0, base: 0 };

/** Returns the network that leaves fewer devices; one that leaves too small a base comes first. */
function fewer(one: NeededNetwork | undefined, other: NeededNetwork): NeededNetwork {
  if (one === undefined || (one.areOthers && !other.areOthers)) return other;
  return one.areOthers === other.areOthers && other.left < one.left ? other : one;
}

/** Returns whether there are enough other devices to compare silent ones with. */
function isEnough({ devices, scale }: OtherDevices, minimumDevices: number): boolean {
  return devices > 0 && devices * scale >= minimumDevices;
}

/**
 * Returns the other devices to compare silent ones with: the present ones if they are enough, else `before`;
 * null if there never were enough.
 */
export function currentOthers(
  { others, networks }: Pick<SignalCounts, 'others' | 'networks'>,
  before: SilentOthers | null,
  minimumDevices: number,
): SilentOthers | null {
  if (!isEnough(others, minimumDevices)) return before;
  const left = networks.silent.parts.map((part) => othersWithout(others, part));
  const enough = [others, ...left.filter((each) => isEnough(each, minimumDevices))];
  if (enough.length > left.length) return { ...others, without: strictest(enough) };
  // Most of the present ones may be invented, so the last ones still count.
  const last = before?.without;
  return { ...others, without: last && strictest([last, ...enough]) };
}

/**
 * Returns counts with the largest silent share and the fewest devices of all these. The difference from them
 * is the smallest, and the least certain.
 */
function strictest(all: readonly OtherDevices[]): OtherDevices {
  const [first] = all as readonly [OtherDevices];
  const devices = Math.min(...all.map((each) => each.devices));
  const share = Math.max(...all.map((each) => each.silent / each.devices));
  return { devices, silent: share * devices, scale: first.scale };
}

function othersWithout({ devices, silent, scale }: OtherDevices, part: NetworkPart): OtherDevices {
  const left = Math.max(devices - (part.others ?? 0), 0);
  return {
    devices: left,
    silent: Math.min(Math.max(silent - (part.silentOthers ?? 0), 0), left),
    scale,
  };
}
