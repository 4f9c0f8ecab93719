// Names of all Redis keys and pub/sub channels of the engine. Redis Cluster hashes the part in braces: keys
// of one script share it, so that they lie on one node.

import type { DeviceName } from '../label-store.ts';

/** Version of the snapshot format. Raise it when a snapshot changes shape: versions may run together. */
const SNAPSHOT_FORMAT = 4;

export type KeysOptions = {
  /** First part of all names; it separates deployments on one Redis. */
  readonly prefix: string;
  /** Number of the database. Databases have separate keys but share pub/sub channels. */
  readonly database: number;
};

export type Keys = ReturnType<typeof createKeys>;

/** Returns the names that a deployment uses. */
export function createKeys({ prefix, database }: KeysOptions) {
  // They begin with the prefix, so that ACL rules can match them. Names for database 0 have no number.
  const pubSubPrefix = database === 0 ? prefix : `${prefix}:${database}`;
  return {
    /** Hash {channel, epoch, revision, offered, index, release:<edition>…}: one channel's snapshot. */
    snapshot(appRef: string, channel: string): string {
      return `${prefix}:snapshot:${SNAPSHOT_FORMAT}:{${appRef}:${channel}}`;
    },

    /** Hash {tag, body}: names of all channels. The number is the format version of the body. */
    channelNames: `${prefix}:channel-names:1`,

    /** Hash {name, region}: the record and the region of all of these keys, once a node has named them. */
    record: `${prefix}:record`,

    /** List: microseconds of each allowed request in the window, oldest first. */
    rate(key: string): string {
      return `${prefix}:rate:{${key}}`;
    },

    /**
     * Sorted set of a busy device's requests by the microsecond of their admission. The number is the version
     * of the rule, so that processes of two versions count separately.
     */
    deviceRate(device: string): string {
      return `${prefix}:device-rate:2:{${device}}`;
    },

    /**
     * Hash of a device: its labels, notes of them, and its actions (device-hash.lua). One key for all: a
     * second one takes 200 bytes. It is named for what nodes of 0.3.0 have there. App ids contain no slash.
     */
    device({ appId, deviceId }: DeviceName): string {
      return `${prefix}:device-labels:{${appId}/${escapeId(deviceId)}}`;
    },

    /**
     * Hash {epoch, position, doubted}: the position up to which the cache has all changes of labels, and the
     * millisecond of Redis' clock before which no entry is confirmed. It never expires.
     */
    labelPosition: `${prefix}:label-position`,

    /** Hash {epoch, position}: the position up to which it has all changes of actions. It never expires. */
    actionPosition: `${prefix}:action-position`,

    /**
     * Stream of packed check-ins in the field `batch`. 4 is the version of the payload format: a node never
     * takes a batch that only a newer version can read. Stream 0 has no number in its name.
     */
    checkIns(stream: number): string {
      return stream === 0 ? `${prefix}:check-ins:4` : `${prefix}:check-ins:4:${stream}`;
    },

    /** Text: number of check-ins in a stream, on its node. It outlives the stream if that is removed. */
    checkInCount(stream: number): string {
      return `${prefix}:check-in-count:{${this.checkIns(stream)}}`;
    },

    /** List that a trial write makes and removes, on the node of a stream. */
    trial(stream: number): string {
      return `${prefix}:trial:{${this.checkIns(stream)}}`;
    },

    /** Sorted set of the takers of check-ins, by the millisecond of their latest sign of life. */
    takers: `${prefix}:check-in-takers`,

    /** Pub/sub channel: announcements of changed channels of all apps, as JSON. */
    announcements: `${pubSubPrefix}:announcements`,

    /** Pub/sub channel: devices whose labels changed, as JSON. */
    labelNotifications: `${pubSubPrefix}:label-news`,

    /** Pub/sub channel: fleet activity for the console, as JSON. */
    activity: `${pubSubPrefix}:activity`,
  } as const;
}

/** Escapes a device id: braces would choose the node, and half a surrogate pair has no UTF-8 form. */
function escapeId(id: string): string {
  return id.replace(/[{}%\ud800-\udfff]/gu, (char) => `%${char.charCodeAt(0).toString(16)};`);
}
