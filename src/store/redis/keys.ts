// Names of all keys and pub/sub channels that the engine uses in Redis. Redis Cluster hashes the part in
// braces: keys that one script touches share it, so that they are on one node.

import type { DeviceName } from '../label-store.ts';

/**
 * Version of the snapshot format. Raise it when the shape of a snapshot changes, so that nodes of two
 * versions do not read each other's snapshots during an upgrade.
 */
const SNAPSHOT_FORMAT = 3;

export type KeysOptions = {
  /** First part of all names: deployments with different ones do not meet on a Redis. */
  readonly prefix: string;
  /** Number of the database on the server. Databases have keys of their own, but share pub/sub channels. */
  readonly database: number;
};

export type Keys = ReturnType<typeof createKeys>;

/** Returns the names that a deployment uses. */
export function createKeys({ prefix, database }: KeysOptions) {
  // Below the prefix, as access rules of Redis may demand. Database 0 keeps the names without a number.
  const pubSubPrefix = database === 0 ? prefix : `${prefix}:${database}`;
  return {
    /**
     * Hash {channel, epoch, revision, offered, index, release:<edition>…}: one channel's snapshot. Neither
     * name can contain a colon.
     */
    snapshot(appRef: string, channel: string): string {
      return `${prefix}:snapshot:${SNAPSHOT_FORMAT}:{${appRef}:${channel}}`;
    },

    /** Hash {tag, body}: names of all channels. The number is the version of the body's format. */
    channelNames: `${prefix}:channel-names:1`,

    /**
     * Hash {name}: the record that all of these keys belong to. Nodes that know no names of records make
     * none.
     */
    record: `${prefix}:record`,

    /** List with the time in microseconds of each request allowed within the window, oldest first. */
    rate(key: string): string {
      return `${prefix}:rate:{${key}}`;
    },

    /**
     * Sorted set of a busy device's requests by the microsecond they were allowed at. The number is the
     * version of the rule: processes of two versions count separately rather than wrongly.
     */
    deviceRate(device: string): string {
      return `${prefix}:device-rate:2:{${device}}`;
    },

    /** String `<revision> <label pairs as JSON>`: cached labels of a device. An app id contains no slash. */
    labels({ appId, deviceId }: DeviceName): string {
      return `${prefix}:labels:{${appId}/${escapeId(deviceId)}}`;
    },

    /** Hash of a device's labels that are not on record yet: `<milliseconds since 1970> <value>` by key. */
    labelNotes({ appId, deviceId }: DeviceName): string {
      return `${prefix}:label-notes:{${appId}/${escapeId(deviceId)}}`;
    },

    /**
     * Hash {epoch, position, doubted}: the change of labels up to which the cached ones are those of the
     * ledger, and the millisecond of Redis' clock before which none is confirmed. It never expires.
     */
    labelPosition: `${prefix}:label-position`,

    /**
     * Streams of packed check-ins, with the field `batch`, in which the drains write side by side. The first
     * number is the version of the payload format: a node never takes a batch that only a newer version can
     * read. The first stream is the one of nodes that knew no other.
     */
    checkIns(stream: number): string {
      return stream === 0 ? `${prefix}:check-ins:4` : `${prefix}:check-ins:4:${stream}`;
    },

    /** Sorted set of the takers of check-ins, by the millisecond in which each told last that it lives. */
    takers: `${prefix}:check-in-takers`,

    /** Pub/sub channel: announcements of changed channels of all apps, as JSON. */
    announcements: `${pubSubPrefix}:announcements`,

    /** Pub/sub channel: devices whose labels changed, as JSON. */
    labelNotifications: `${pubSubPrefix}:label-news`,

    /** Pub/sub channel: fleet activity for the console, as JSON. */
    activity: `${pubSubPrefix}:activity`,
  } as const;
}

/**
 * Escapes a device id for use in a key. Braces in it would choose the cluster node, and half a surrogate pair
 * has no UTF-8 form, so that two ids with different halves would become one key.
 */
function escapeId(id: string): string {
  return id.replace(/[{}%\ud800-\udfff]/gu, (char) => `%${char.charCodeAt(0).toString(16)};`);
}
