// What may still change about a release's targeting once a device was offered it: labels only towards more
// devices, expressions not at all (docs/contract.md 3.6).

import type { TargetExpression, Targeting } from '../../contract/resource.ts';
import { NO_CONDITIONS } from '../decision/is-targeted.ts';

/** Returns why a change of targeting is not a broadening, or undefined when it is one or changes nothing. */
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
 * Returns whether labels broaden: every remaining key keeps all its values and no key is added. Dropping a
 * key broadens.
 */
function labelsBroaden(before: Targeting['matchLabels'], after: Targeting['matchLabels']): boolean {
  return Object.entries(after).every(([key, values]) => {
    const previous = Object.hasOwn(before, key) ? before[key] : undefined;
    if (previous === undefined) return false;
    const now = new Set(values);
    return previous.every((value) => now.has(value));
  });
}

/** Compares expressions as sets: the order of expressions, and of the values in each, does not matter. */
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
