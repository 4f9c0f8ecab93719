// Sliding windows of requests in Redis: one key for each caller.

import type { Engine } from '../engine.ts';
import { SCRIPTS } from './commands.ts';
import type { RedisConnection } from './connection.ts';
import type { Keys } from './keys.ts';

export function createRedisRequestRates(
  connection: RedisConnection,
  keys: Keys,
): Pick<Engine, 'countRequest' | 'forgetRequests'> {
  return {
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
  };
}
