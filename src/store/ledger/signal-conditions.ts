// Parts of the statements that read signals: which devices count, what a device is in, and which devices are
// looked at.

/**
 * Conditions of signals and of their bases (docs/contract.md 27.6), on columns of `release_devices`, the
 * `last_seen` of the device, and `signalTimes`. Failures are in a table of their own.
 */
export const SIGNAL_CONDITIONS = {
  failedBase: 'offered_at IS NOT NULL',
  reverted: 'reverted_at IS NOT NULL',
  revertedBase: 'installed_at IS NOT NULL',
  stuck: 'installed_at IS NULL AND last_seen - offered_at > stuck_after',
  stuckBase: 'offered_at <= now() - stuck_after',
  silent: `least(offered_at, installed_at) <= now() - silent_after
    AND last_seen <= now() - silent_after`,
  silentBase: 'least(offered_at, installed_at) <= now() - silent_after',
} as const;

/**
 * Condition on rows that tell how long their devices were known: for the edge $2 before the release was
 * published, by their reports with a key where $3 is true.
 */
export const IS_KNOWN = 'CASE WHEN $3 THEN pushed ELSE known END >= $2';

/** Number of devices that are looked at of those that a release reached. */
export const REACHED_LOOKED_AT = 10_000;
/** Number of devices that are looked at of a channel and its followers: those that never got the release. */
export const OTHERS_LOOKED_AT = 4000;

/** Hashes of device ids: how many there are, the lowest and the highest. */
export const HASHES = 2 ** 32;
export const HASH_MIN = -(2 ** 31);
export const HASH_MAX = 2 ** 31 - 1;

/** Times after which a device is stuck or silent, from two parameters in minutes. */
export function signalTimes(stuckMinutes: string, silentMinutes: string): string {
  return `(
    SELECT ${stuckMinutes}::int * interval '1 minute' AS stuck_after,
      ${silentMinutes}::int * interval '1 minute' AS silent_after
  ) AS signal_times`;
}

/**
 * Devices of the release $1 that were known for the edge $2, of those reported with a key where $3 is true,
 * with hashes up to $4. The index has the devices of each edge in the order of a hash of their ids, so that
 * about as many are read as are to be looked at, the same ones each time: those up to a hash. A device that
 * was reported long enough before the release was known for at least as long. OFFSET 0 keeps the order in
 * which tables are looked up: a plan for the whole of a large fleet, most of which has been reached, would
 * read all of it.
 */
export const REACHED_SAMPLE = `(
  SELECT reached.*, devices.last_seen, devices.platform, devices.version, devices.network
  FROM unnest(signal_edges()) AS edge
  CROSS JOIN LATERAL (
    SELECT * FROM release_devices
    WHERE release_id = $1 AND known = edge AND hashtext(device_id) <= $4::integer OFFSET 0
  ) AS reached
  CROSS JOIN LATERAL (
    SELECT last_seen, platform, version, network FROM devices
    WHERE app_id = reached.app_id AND device_id = reached.device_id OFFSET 0
  ) AS devices
  WHERE edge >= $2 AND (NOT $3 OR reached.pushed >= $2)
    AND EXISTS (SELECT FROM releases WHERE id = $1 AND is_watched)
) AS looked_at`;

/** Returns the number of devices that each of those that are looked at stands for, of so many. */
export function reachedScale(reached: number): number {
  return Math.max(reached / REACHED_LOOKED_AT, 1);
}

/** Returns the hash up to which one of so many devices lies. */
export function highestHash(scale: number): number {
  return Math.min(Math.floor(HASHES / scale) + HASH_MIN, HASH_MAX);
}
