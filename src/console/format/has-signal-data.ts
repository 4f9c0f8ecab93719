// Whether a signal has any device that could show it: a rate of nothing is no rate.

import type { ReleaseTrouble } from '../../contract/release-trouble.ts';
import type { Health, Signal } from '../../contract/rollout-plan.ts';

/**
 * Tells whether a rate says something. What the base of stuck and of silent is comes with the trouble; before
 * that is known, a rate whose interval is empty says nothing.
 */
export function hasSignalData(
  signal: Signal,
  health: Health,
  trouble: ReleaseTrouble | undefined,
): boolean {
  if (signal === 'failed') return health.offered > 0;
  if (signal === 'reverted') return health.installed > 0;
  const base = trouble?.signals[signal].base;
  return base === undefined ? health.rates[signal].high > 0 : base > 0;
}
