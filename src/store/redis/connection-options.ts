// Options of every connection to Redis: time limits, credentials, and the server.

import type { RedisOptions } from 'ioredis';
import { type BackOff, backOffMs } from '../../flow/back-off.ts';
import type { RedisTarget } from './target.ts';

/** Longest wait for the answer to a command, and for a connection. */
const COMMAND_TIMEOUT_MS = 800;
// A connection without an answer for this long is dropped, so that further commands fail at once rather than
// time out one by one.
const SILENCE_TIMEOUT_MS = 1000;
const DISCONNECT_TIMEOUT_MS = 100;
const RETRY: BackOff = { minMs: 50, maxMs: 1000 };

/**
 * Options of a connection to one of the nodes, the next one with each `attempt` from 0; or to the primary
 * that the Sentinels name.
 */
export function connectionOptions(target: RedisTarget, attempt = 0) {
  const { nodes, sentinel, login } = target;
  if (sentinel === undefined) return { ...optionsOfNode(target), ...nodes[attempt % nodes.length] };
  const { username, password } = sentinel.login;
  return {
    ...optionsOfNode(target),
    // A Sentinel that answered comes first in the driver's own list.
    sentinels: [...nodes],
    name: sentinel.name,
    ...(username !== undefined && { sentinelUsername: username }),
    ...(password !== undefined && { sentinelPassword: password }),
    sentinelCommandTimeout: COMMAND_TIMEOUT_MS,
    sentinelRetryStrategy: retryDelayMs,
    ...(login.tls !== undefined && { enableTLSForSentinelMode: true, sentinelTLS: login.tls }),
  };
}

/** Options without an address. */
export function optionsOfNode({ login }: RedisTarget) {
  return {
    ...login,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    commandTimeout: COMMAND_TIMEOUT_MS,
    connectTimeout: COMMAND_TIMEOUT_MS,
    socketTimeout: SILENCE_TIMEOUT_MS,
    disconnectTimeout: DISCONNECT_TIMEOUT_MS,
    maxLoadingRetryTime: RETRY.maxMs,
    // The driver's own re-subscription fails as an unhandled rejection; `subscription.ts` does it.
    autoResubscribe: false,
    retryStrategy: retryDelayMs,
    // The primary has become a replica: its name may meanwhile resolve to another server.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
  } satisfies RedisOptions;
}

/** Milliseconds to wait before a connection attempt; `attempt` counts from 1. */
export function retryDelayMs(attempt: number): number {
  return backOffMs(RETRY, attempt);
}
