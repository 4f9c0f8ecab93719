// Redis servers of a test's own, and engines on them; all end with the test.

import { Redis } from 'ioredis';
import { afterEach } from 'vitest';
import { createRedisEngine } from '../../src/engine/redis/redis-engine.ts';
import type { Engine } from '../../src/ports/engine.ts';
import { eventually } from '../support/eventually.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';

/** Functions that clean up after a test; the last one runs first. */
export const leftovers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const dispose of leftovers.splice(0).reverse()) await dispose();
});

export async function redisOf(...args: string[]): Promise<RedisServer> {
  const server = await startRedis({ args });
  leftovers.push(() => server.stop());
  return server;
}

/** An engine, not yet connected, and the faults it reports. */
export function open(url: string): { engine: Engine; faults: Error[] } {
  const faults: Error[] = [];
  const engine = createRedisEngine({
    url,
    prefix: 'sluice',
    onFault: (error) => faults.push(error as Error),
  });
  leftovers.push(() => engine.close());
  return { engine, faults };
}

export async function connected(url: string): Promise<{ engine: Engine; faults: Error[] }> {
  const opened = open(url);
  await eventually('the engine is connected', () => opened.engine.isReachable());
  return opened;
}

/** A plain client that reads what the engine has stored. */
export function adminOf(server: RedisServer): Redis {
  const admin = new Redis(server.url);
  // Tests kill the server: the client's errors are expected.
  admin.on('error', () => {});
  leftovers.push(async () => admin.disconnect());
  return admin;
}
