// Confirms a signal with a second check: a single one may be chance, or based on incomplete counts.

import { SIGNALS } from '../../contract/choice.ts';
import type { Signal } from '../../contract/rollout-plan.ts';

/**
 * Counted time in milliseconds (see `PlanTime`) of the first check that found a signal above its limit, for
 * signals that were above it in every check since.
 */
export type GuardWatch = Readonly<Partial<Record<Signal, number>>>;

const MINUTE_MS = 60_000;

/**
 * Records a check at which these signals were above their limits. A signal trips at a later such check, at
 * least `confirmMinutes` after the first, if no check between them was below.
 */
export function watchGuards(
  watch: GuardWatch,
  exceeded: readonly Signal[],
  countedMs: number,
  confirmMinutes: number,
): { readonly watch: GuardWatch; readonly tripped: readonly Signal[] } {
  const next: Partial<Record<Signal, number>> = {};
  const tripped: Signal[] = [];
  for (const signal of SIGNALS) {
    if (!exceeded.includes(signal)) continue;
    const since = watch[signal];
    next[signal] = since ?? countedMs;
    if (since !== undefined && countedMs - since >= confirmMinutes * MINUTE_MS) {
      tripped.push(signal);
    }
  }
  return { watch: next, tripped };
}
