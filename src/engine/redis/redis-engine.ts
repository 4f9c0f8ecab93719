// The engine on Redis, shared by several nodes. `Engine` states the obligations.

import type { Engine } from '../../ports/engine.ts';
import { faultOf } from './fault.ts';
import { createKeys } from './keys.ts';
import { packLabelNews } from './label-payload.ts';
import { openMovableConnection } from './movable-connection.ts';
import { createRedisChannelNames } from './redis-channel-names.ts';
import { createRedisCheckIns } from './redis-check-ins.ts';
import { createRedisDeviceRates } from './redis-device-rates.ts';
import { createRedisLabelNotes } from './redis-label-notes.ts';
import { createRedisLabels } from './redis-labels.ts';
import { createRedisSnapshots } from './redis-snapshots.ts';
import { type RemovedKey, repairingConnection } from './repairing-connection.ts';
import { SCRIPTS } from './script.ts';
import { createSubscriptions } from './subscriptions.ts';
import { parseTarget } from './target.ts';

/** Bytes that the queue of check-ins takes of Redis' memory before it is full: a gigabyte. */
const CHECK_IN_BYTES_MAX = 2 ** 30;

export type RedisEngineOptions = {
  /** `redis://` or `rediss://`; several, with commas between them, are the nodes of a Redis Cluster. */
  readonly url: string;
  /** First part of the names of all keys and pub/sub channels. */
  readonly prefix: string;
  /** Maximum number of bytes in the queue of check-ins; default: a gigabyte. */
  readonly checkInBytesMax?: number;
  /**
   * Called with the cause when a connection fails or stored data is malformed. The error contains no secret.
   */
  readonly onFault: (error: unknown) => void;
  /** Called for every key that was removed because its value had another type than the engine's. */
  readonly onRemoved?: (removed: RemovedKey) => void;
};

/** Engine whose Redis may get another address while it is used. */
export type RedisEngine = Engine & {
  /**
   * Connects to another address, and uses it once it answers, or after a moment without an answer. Throws
   * when the URL cannot be understood. The number of the database stays: names of pub/sub channels have it.
   */
  useAddress(url: string): Promise<void>;
};

/** Connects at once, in the background; throws only when the URL cannot be understood. */
export function createRedisEngine(options: RedisEngineOptions): RedisEngine {
  let { url } = options;
  let target = parseTarget(url);
  const onFault = (error: unknown) => options.onFault(faultOf(error, target));
  const keys = createKeys({ prefix: options.prefix, database: target.login.db });
  const connection = repairingConnection(
    openMovableConnection(target, onFault),
    options.onRemoved ?? (() => undefined),
  );
  const { announcements, activities, labelNews } = createSubscriptions(() => target, keys, onFault);

  return {
    ...createRedisChannelNames(connection, keys, onFault),
    ...createRedisCheckIns(
      connection,
      keys,
      options.checkInBytesMax ?? CHECK_IN_BYTES_MAX,
      onFault,
    ),
    ...createRedisLabels(connection, keys, onFault),
    labelNotes: createRedisLabelNotes(connection, keys),
    ...createRedisDeviceRates(connection, keys),
    ...createRedisSnapshots(connection, keys, onFault),

    async announce(announcement) {
      const route = keys.snapshot(announcement.appRef, announcement.channel);
      const message = JSON.stringify(announcement);
      await connection.run(SCRIPTS.announce, route, keys.announcements, message);
    },

    subscribe: announcements.add,

    async shareActivity(shared) {
      const message = JSON.stringify(shared);
      await connection.run(SCRIPTS.announce, keys.activity, keys.activity, message);
    },

    onActivity: (listener) => activities.add(listener, () => undefined),

    async tellLabels(news) {
      const message = packLabelNews(news);
      await connection.run(SCRIPTS.announce, keys.labelNews, keys.labelNews, message);
    },

    onLabels: labelNews.add,

    async countRequest(key, limit, windowMs) {
      const args = [String(limit), String(windowMs)];
      const reply = await connection.run(SCRIPTS.countRequest, keys.rate(key), ...args);
      const [remaining, leaveMs] = reply as [number, number];
      return remaining < 0
        ? { isAllowed: false, waitMs: leaveMs, remaining: 0, leaveMs }
        : { isAllowed: true, waitMs: 0, remaining, leaveMs };
    },

    async forgetRequests(key) {
      await connection.run(SCRIPTS.forgetRequests, keys.rate(key));
    },

    isReachable: connection.isReachable,

    async useAddress(nextUrl) {
      if (nextUrl === url) return;
      const next = parseTarget(nextUrl);
      url = nextUrl;
      await connection.moveTo(next);
      target = next;
      for (const each of [announcements, activities, labelNews]) each.reconnect();
    },

    async close() {
      announcements.close();
      activities.close();
      labelNews.close();
      connection.close();
    },
  };
}
