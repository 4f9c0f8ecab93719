// How targeting changes whom a release may reach. Once a device was offered it, labels may only broaden, and
// expressions may not change (docs/contract.md 3.6).

import type { TargetExpression, Targeting } from '../../contract/resource.ts';
import { NO_CONDITIONS } from '../decision/targeting.ts';

/** Returns the part that may not change so: expressions at all, labels if they narrow; else undefined. */
export function obstacleToBroadening(
  before: Targeting | null,
  after: Targeting | null,
): 'expressions' | 'labels' | undefined {
  const from = before ?? NO_CONDITIONS;
  const to = after ?? NO_CONDITIONS;
  if (!sameExpressions(from.matchExpressions, to.matchExpressions)) return 'expressions';
  return labelsBroaden(from.matchLabels, to.matchLabels) ? undefined : 'labels';
}

/**
 * Returns whether a targeting may match a device that the one before it does not. Conditions that are added,
 * and values of labels that are left out, only narrow.
 */
export function mayReachMore(before: Targeting | null, after: Targeting | null): boolean {
  const from = before ?? NO_CONDITIONS;
  const to = after ?? NO_CONDITIONS;
  const kept = new Set(to.matchExpressions.map(spell));
  const isKept = from.matchExpressions.every((each) => kept.has(spell(each)));
  // Labels only narrow if the reverse change broadens them.
  return !isKept || !labelsBroaden(to.matchLabels, from.matchLabels);
}

/** Returns whether labels broaden: no key is added, and each remaining key keeps all its values. */
function labelsBroaden(before: Targeting['matchLabels'], after: Targeting['matchLabels']): boolean {
  return Object.entries(after).every(([key, values]) => {
    const previous = Object.hasOwn(before, key) ? before[key] : undefined;
    if (previous === undefined) return false;
    const now = new Set(values);
    return previous.every((value) => now.has(value));
  });
}

/** Compares expressions as sets: neither their order nor that of their values matters. */
function sameExpressions(
  left: readonly TargetExpression[],
  right: readonly TargetExpression[],
): boolean {
  const leftSet = new Set(left.map(spell));
  const rightSet = new Set(right.map(spell));
  return leftSet.size === rightSet.size && [...leftSet].every((text) => rightSet.has(text));
}

function spell({ key, operator, values }: TargetExpression): string {
  return JSON.stringify([key, operator, [...new Set(values)].sort()]);
}
