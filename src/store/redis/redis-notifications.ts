// Messages between nodes by Redis pub/sub: changed channels, fleet activity, and devices with changed labels.

import type { Engine } from '../engine.ts';
import { SCRIPTS } from './commands.ts';
import type { RedisConnection } from './connection.ts';
import type { Keys } from './keys.ts';
import { packLabelNotifications } from './redis-labels.ts';
import type { createSubscriptions } from './subscriptions.ts';

export function createRedisNotifications(
  connection: RedisConnection,
  keys: Keys,
  { announcements, activities, labelNotifications }: ReturnType<typeof createSubscriptions>,
): Pick<
  Engine,
  'announce' | 'subscribe' | 'shareActivity' | 'onActivity' | 'tellLabels' | 'onLabels'
> {
  const tell = async (route: string, channel: string, message: string) =>
    void (await connection.run(SCRIPTS.announce, route, channel, message));
  return {
    announce(announcement) {
      const route = keys.snapshot(announcement.appRef, announcement.channel);
      return tell(route, keys.announcements, JSON.stringify(announcement));
    },

    subscribe: announcements.add,

    shareActivity: (shared) => tell(keys.activity, keys.activity, JSON.stringify(shared)),

    onActivity: (listener) => activities.add(listener, () => undefined),

    tellLabels: (notifications) =>
      tell(keys.labelNotifications, keys.labelNotifications, packLabelNotifications(notifications)),

    onLabels: labelNotifications.add,
  };
}
