// Versions that a fleet has installed: most devices run the newest, and each older version has fewer, in a
// long tail of devices whose owners put updates off.

/** Share of the devices that run the newest version. */
const NEWEST_SHARE = 0.7;
/** Share of the rest that each version has of those that are left, from the second newest on. */
const STEP_SHARE = 0.15;

/** Returns the place, 0 for the newest, of the version that a device runs, of `count` versions. */
export function versionMix(random: number, count: number): number {
  if (random < NEWEST_SHARE || count < 2) return 0;
  const rest = (random - NEWEST_SHARE) / (1 - NEWEST_SHARE);
  const place = 1 + Math.floor(Math.log(1 - rest) / Math.log(1 - STEP_SHARE));
  return Math.min(place, count - 1);
}
