// Owns the name of everything the engine keeps in Redis. What stands in braces is the part that Redis
// Cluster hashes: the keys that one script touches share it, so they lie on one node.

import type { DeviceName } from '../../ports/label-cache.ts';

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

  /**
   * Sorted set: requests of a busy device by the microsecond they were allowed at. The number is that of the
   * rule: processes of two versions count apart rather than wrongly.
   */
  deviceRate(device: string): string {
    return `sluice:device-rate:2:{${device}}`;
  },

  /** String `<revision> <label pairs as JSON>`: what is remembered of one device. An app id has no slash. */
  labels({ appId, deviceId }: DeviceName): string {
    return `sluice:labels:{${appId}/${escapeId(deviceId)}}`;
  },

  /**
   * Stream of packed check-ins {batch}. One for all: an entry carries hundreds of devices, so one node of a
   * cluster is far from busy with it, and several streams would have no order among them. The number
   * is that of the packing: a node never takes what only a newer one can read.
   */
  checkIns: 'sluice:check-ins:4',

  /** Pub/sub channel, not a key: JSON announcements of all apps. */
  announcements: 'sluice:announcements',

  /** Pub/sub channel, not a key: JSON news of devices whose labels changed. */
  labelNews: 'sluice:label-news',

  /** Pub/sub channel, not a key: JSON activity for the live feed. */
  activity: 'sluice:activity',
} as const;

/**
 * A device id is any text. Braces would decide on the node; half a surrogate pair has no UTF-8, so that two
 * ids with different halves would become one key.
 */
function escapeId(id: string): string {
  return id.replace(/[{}%\ud800-\udfff]/gu, (char) => `%${char.charCodeAt(0).toString(16)};`);
}
