// Pub/sub subscriptions of a node: changed channels, fleet activity, and devices with changed labels.

import { Redis } from 'ioredis';
import type { Activity, Announcement } from '../engine.ts';
import type { LabelNotification } from '../label-store.ts';
import { connectionOptions, retryDelayMs } from './connection.ts';
import type { Keys } from './keys.ts';
import { parseLabelNotifications } from './redis-labels.ts';
import { parseActivityPayload, parseAnnouncementPayload } from './redis-snapshots.ts';
import type { RedisTarget } from './target.ts';

/**
 * Creates the three subscriptions; each opens with its first listener. `target` returns the servers to
 * connect to, `isHeard` whether their messages count.
 */
export function createSubscriptions(
  target: () => RedisTarget,
  keys: Keys,
  onFault: (error: unknown) => void,
  isHeard: () => boolean,
) {
  const createSubscribers = <Message>(open: (delivery: Delivery<Message>) => Subscription) =>
    createSubscriberList(isHeard, open);
  const announcements = createSubscribers<Announcement>((subscribers) =>
    openSubscription({
      target,
      channel: keys.announcements,
      onMessage: (message) => {
        const announcement = parseAnnouncementPayload(message);
        if (announcement === undefined) onFault(new Error('ignored a malformed announcement'));
        else subscribers.deliver(announcement);
      },
      onResumed: () => subscribers.resume(),
      onFault,
    }),
  );
  const activities = createSubscribers<readonly Activity[]>((subscribers) =>
    openSubscription({
      target,
      channel: keys.activity,
      onMessage: (message) => subscribers.deliver(parseActivityPayload(message)),
      onResumed: () => undefined,
      onFault,
    }),
  );
  const labelNotifications = createSubscribers<readonly LabelNotification[]>((subscribers) =>
    openSubscription({
      target,
      channel: keys.labelNotifications,
      onMessage: (message) => subscribers.deliver(parseLabelNotifications(message)),
      onResumed: () => subscribers.resume(),
      onFault,
    }),
  );
  return { announcements, activities, labelNotifications };
}

type Subscriber<Message> = {
  readonly listener: (message: Message) => void;
  readonly onResumed: () => void;
};

type Delivery<Message> = { deliver(message: Message): void; resume(): void };

/** Creates the listeners of one pub/sub channel; they share a subscription that the first one opens. */
function createSubscriberList<Message>(
  isHeard: () => boolean,
  open: (delivery: Delivery<Message>) => Subscription,
) {
  const all: Subscriber<Message>[] = [];
  let subscription: Subscription | undefined;
  let isClosed = false;
  const delivery: Delivery<Message> = {
    deliver(message) {
      if (!isHeard()) return;
      for (const { listener } of all) listener(message);
    },
    resume() {
      for (const { onResumed } of all) onResumed();
    },
  };
  return {
    add(listener: (message: Message) => void, onResumed: () => void): void {
      if (isClosed) return;
      all.push({ listener, onResumed });
      subscription ??= open(delivery);
    },
    resume: delivery.resume,
    reconnect(): void {
      subscription?.reconnect();
    },
    close(): void {
      isClosed = true;
      all.length = 0;
      subscription?.close();
    },
  };
}

// A pub/sub subscription on its own connection. In a Redis Cluster every node relays all messages, so one
// connection to any node is enough; each reconnection takes the next node.
//
//   connecting ──subscribed──▶ listening ──lost──▶ waiting ──back-off──▶ connecting ──▶ …
//        └────────failed─────────────────────────────▲
//
// After a loss or a failed attempt, messages may have been missed, so `onResumed` is called.

// A subscriber sends no commands and would not notice a dead connection; after an unanswered ping the driver
// drops it.
const HEARTBEAT_INTERVAL_MS = 1000;

type Subscription = {
  /** Replaces the connection; `onResumed` reports the gap as after a loss. */
  reconnect(): void;
  close(): void;
};

/** Subscribes to a pub/sub channel until closed. */
function openSubscription(options: {
  readonly target: () => RedisTarget;
  readonly channel: string;
  readonly onMessage: (message: string) => void;
  readonly onResumed: () => void;
  readonly onFault: (error: unknown) => void;
}): Subscription {
  const { channel, onMessage, onResumed, onFault } = options;
  let failedAttempts = 0;
  let connectionCount = 0;
  let mayHaveMissed = false;
  let isClosed = false;
  let retry: NodeJS.Timeout | undefined;
  let client = connect();

  const heartbeat = setInterval(() => {
    if (client.status === 'ready') client.ping().catch(() => {});
  }, HEARTBEAT_INTERVAL_MS);

  function connect(): Redis {
    const target = options.target();
    // No retries by the driver: it would stay with this node. `onLost` retries, and asks the Sentinels again.
    const redis = new Redis({
      ...connectionOptions(target, connectionCount++),
      retryStrategy: null,
      sentinelRetryStrategy: () => null,
    });
    redis.on('error', onFault);
    redis.on('message', (_channel, message) => onMessage(message));
    redis.once('ready', () => {
      redis.subscribe(channel).then(onSubscribed, (error) => {
        onFault(error);
        redis.disconnect();
      });
    });
    redis.once('end', onLost);
    return redis;
  }

  function onSubscribed(): void {
    failedAttempts = 0;
    if (mayHaveMissed) onResumed();
    mayHaveMissed = false;
  }

  function onLost(): void {
    if (isClosed) return;
    mayHaveMissed = true;
    failedAttempts += 1;
    retry = setTimeout(() => {
      client = connect();
    }, retryDelayMs(failedAttempts));
  }

  return {
    reconnect: () => client.disconnect(),
    close() {
      isClosed = true;
      clearInterval(heartbeat);
      clearTimeout(retry);
      client.disconnect();
    },
  };
}
