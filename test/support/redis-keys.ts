// Names of keys and pub/sub channels in Redis, as a service with default settings uses them.

import type { Redis } from 'ioredis';
import { createKeys } from '../../src/store/redis/keys.ts';
import { CHECK_IN_STREAMS } from '../../src/store/redis/redis-check-ins.ts';

export const keys = createKeys({ prefix: 'sluice', database: 0 });

/** Keys of all streams of check-ins. */
export const streamKeys = Array.from({ length: CHECK_IN_STREAMS }, (_, stream) =>
  keys.checkIns(stream),
);

/** Returns the labels of which the hash of a device has notes. */
export async function notedIn(redis: Redis, key: string): Promise<readonly string[]> {
  const fields = await redis.hkeys(key);
  return fields.filter((field) => field !== '' && !field.includes('\0'));
}

/** Returns the number of batches that wait in all streams. */
export async function queueLength(redis: Redis): Promise<number> {
  const lengths = await Promise.all(streamKeys.map((key) => redis.xlen(key)));
  return lengths.reduce((sum, length) => sum + length, 0);
}
