// Owns the name of everything the engine keeps in Redis. What stands in braces is the part that Redis
// Cluster hashes: the keys that one script touches share it, so they lie on one node.

/**
 * Grows when the shape of a snapshot changes: nodes of two versions, during an upgrade, then leave each
 * other's alone.
 */
const SNAPSHOT_FORMAT = 1;

export const keys = {
  /** Hash {channel, revision, offered, body}: one channel's snapshot. Neither name can contain a colon. */
  snapshot(appRef: string, channel: string): string {
    return `sluice:snapshot:${SNAPSHOT_FORMAT}:{${appRef}:${channel}}`;
  },

  /** List: microseconds of the requests allowed within the window, oldest first. */
  rate(key: string): string {
    return `sluice:rate:{${key}}`;
  },

  /** Pub/sub channel, not a key: JSON announcements of all apps. */
  announcements: 'sluice:announcements',
} as const;
