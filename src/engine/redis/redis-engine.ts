// The engine on Redis, shared by several nodes. `Engine` states the obligations.

import type { Engine } from '../../ports/engine.ts';
import { openConnection } from './connection.ts';
import { faultOf } from './fault.ts';
import { createKeys } from './keys.ts';
import { packLabelNews } from './label-payload.ts';
import { createRedisChannelNames } from './redis-channel-names.ts';
import { createRedisCheckIns } from './redis-check-ins.ts';
import { createRedisDeviceRates } from './redis-device-rates.ts';
import { createRedisLabels } from './redis-labels.ts';
import { createRedisSnapshots } from './redis-snapshots.ts';
import { SCRIPTS } from './script.ts';
import { createSubscriptions } from './subscriptions.ts';
import { parseTarget } from './target.ts';

export type RedisEngineOptions = {
  /** `redis://` or `rediss://`; several, with commas between them, are the nodes of a Redis Cluster. */
  readonly url: string;
  /** First part of the names of all keys and pub/sub channels. */
  readonly prefix: string;
  /**
   * Called with the cause when a connection fails or stored data is malformed. The error contains no secret.
   */
  readonly onFault: (error: unknown) => void;
};

/** Connects at once, in the background; throws only when the URL cannot be understood. */
export function createRedisEngine(options: RedisEngineOptions): Engine {
  const target = parseTarget(options.url);
  const onFault = (error: unknown) => options.onFault(faultOf(error, target));
  const keys = createKeys({ prefix: options.prefix, database: target.login.db });
  const connection = openConnection(target, onFault);
  const { announcements, activities, labelNews } = createSubscriptions(target, keys, onFault);

  return {
    ...createRedisChannelNames(connection, keys, onFault),
    ...createRedisCheckIns(connection, keys, onFault),
    ...createRedisLabels(connection, keys, onFault),
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
      const [allowed, waitMs] = reply as [number, number];
      return { isAllowed: allowed === 1, waitMs };
    },

    async forgetRequests(key) {
      await connection.run(SCRIPTS.forgetRequests, keys.rate(key));
    },

    isReachable: connection.isReachable,

    async close() {
      announcements.close();
      activities.close();
      labelNews.close();
      connection.close();
    },
  };
}
