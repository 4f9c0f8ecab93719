// Two checks of a signal: one alone may be a chance, or a moment at which the figures were half there.

import { SIGNALS, type Signal } from '../../contract/rollout-plan.ts';

/**
 * Counted times in milliseconds (see `PlanTime`) of the first check that found a signal above its limit, for
 * those that were above it in every check since.
 */
export type GuardWatch = Readonly<Partial<Record<Signal, number>>>;

const MINUTE_MS = 60_000;

/**
 * Enters a check at which these signals were above their limits. A signal trips at the second such check,
 * when it is at least `confirmMinutes` after the first and no check between them was below.
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
