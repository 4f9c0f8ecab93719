// How many devices a change offers a release, as its dry run counts them.

import type { Effect } from '../../contract/rehearsed.ts';

/** Number of devices above which an act that offers a release is confirmed. */
const MANY_DEVICES = 1000;

type Offering = { readonly release: { readonly version: string }; readonly effect: Effect };

/** Returns how many devices are offered the release after the change that were offered another one or none. */
export function reachedBy({ release, effect }: Offering): number {
  return effect.moves
    .filter(({ to }) => to === release.version)
    .reduce((sum, { devices }) => sum + devices, 0);
}

/** Returns whether a change reaches more than half of the channel's devices, or more than 1,000. */
export function reachesMany(offering: Offering): boolean {
  const reached = reachedBy(offering);
  return reached > MANY_DEVICES || reached * 2 > offering.effect.devices;
}
