// A pub/sub subscription on a connection of its own. In a Redis Cluster every node relays what any node
// publishes, so one plain connection to any node is enough; each reconnection takes the next node.
//
//   connecting ──subscribed──▶ listening ──lost──▶ waiting ──back-off──▶ connecting ──▶ …
//        └────────failed─────────────────────────────▲
//
// When listening starts after a loss or a failed attempt, messages may have been missed: `onResumed` is
// called.

import { Redis } from 'ioredis';
import { connectionOptions, retryDelayMs } from './connection-options.ts';
import type { RedisTarget } from './target.ts';

export type SubscriptionOptions = {
  /** Returns the servers to connect to now. */
  readonly target: () => RedisTarget;
  readonly channel: string;
  readonly onMessage: (message: string) => void;
  readonly onResumed: () => void;
  readonly onFault: (error: unknown) => void;
};

// A subscriber sends no commands, so it would never notice a dead connection; an unanswered ping makes the
// driver drop it.
const HEARTBEAT_INTERVAL_MS = 1000;

export type Subscription = {
  /** Gives the connection up for a new one; what is missed between the two is told as after a loss. */
  reconnect(): void;
  close(): void;
};

/** Subscribes to a pub/sub channel until it is closed. */
export function openSubscription(options: SubscriptionOptions): Subscription {
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
    // No retry by the driver: it would insist on this node, and to ask the Sentinels again is `onLost`'s
    // part.
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
