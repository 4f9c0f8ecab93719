// Usual rate limiter: a sliding window of two counters in Redis, updated by one script per request.

import { Redis } from 'ioredis';

const WINDOW_MS = 60_000;
const LIMIT = 120;
const SCRIPT = `
  local count = redis.call('INCR', KEYS[1])
  if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
  local before = tonumber(redis.call('GET', KEYS[2]) or '0')
  return math.floor(before * tonumber(ARGV[1])) + count`;

/** Connects to `BENCH_REDIS_URL`; the returned function counts a request and tells whether it may pass. */
export function countByScript() {
  const redis = new Redis(process.env.BENCH_REDIS_URL ?? '', { maxRetriesPerRequest: 1 });
  redis.defineCommand('countRequest', { numberOfKeys: 2, lua: SCRIPT });
  const count = /** @type {(...args: (string | number)[]) => Promise<number>} */ (
    // The method that `defineCommand` has just added.
    Reflect.get(redis, 'countRequest').bind(redis)
  );
  return async (/** @type {string} */ device) => {
    const now = Date.now();
    const window = Math.floor(now / WINDOW_MS);
    const weight = 1 - (now % WINDOW_MS) / WINDOW_MS;
    const key = `bench:${device}:`;
    return (await count(key + window, key + (window - 1), weight, WINDOW_MS * 2)) <= LIMIT;
  };
}
