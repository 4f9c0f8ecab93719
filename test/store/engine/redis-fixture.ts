// Redis servers of a test's own, and engines on them; all end with the test.

import { Redis } from 'ioredis';
import { afterEach } from 'vitest';
import type { Engine } from '../../../src/store/engine.ts';
import { createRedisEngine } from '../../../src/store/redis/redis-engine.ts';
import type { RemovedKey } from '../../../src/store/redis/repairing-connection.ts';
import { eventually } from '../../support/eventually.ts';
import { type RedisServer, startRedis } from '../../support/redis-server.ts';
import { type NetworkProxy, startProxy } from '../../support/tcp-proxy.ts';

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

type Opened = { engine: Engine; faults: Error[]; removed: RemovedKey[]; lost: number[] };

/** An engine, not yet connected, the faults and losses it reports, and the keys that it removed. */
export function open(url: string): Opened {
  const faults: Error[] = [];
  const removed: RemovedKey[] = [];
  const lost: number[] = [];
  const engine = createRedisEngine({
    url,
    prefix: 'sluice',
    onFault: (error) => faults.push(error as Error),
    onRemoved: (key) => removed.push(key),
    onLost: (count) => lost.push(count),
  });
  leftovers.push(() => engine.close());
  return { engine, faults, removed, lost };
}

export async function connected(url: string): Promise<Opened> {
  const opened = open(url);
  await eventually('the engine is connected', () => opened.engine.isReachable());
  return opened;
}

/** A server of its own, and an engine that is connected to it. */
export async function connectedAlone(): Promise<Opened & { server: RedisServer }> {
  const server = await redisOf();
  return { ...(await connected(server.url)), server };
}

/** A server of its own behind a proxy that fails, and an engine that reaches it through the proxy. */
export async function connectedThroughProxy(): Promise<
  Opened & { server: RedisServer; proxy: NetworkProxy }
> {
  const server = await redisOf();
  const proxy = await startProxy(server.port);
  leftovers.push(() => proxy.close());
  return { ...(await connected(`redis://127.0.0.1:${proxy.port}`)), server, proxy };
}

/** A plain client that reads what the engine has stored. */
export function adminOf(server: RedisServer): Redis {
  const admin = new Redis(server.url);
  // Tests kill the server: the client's errors are expected.
  admin.on('error', () => {});
  leftovers.push(async () => admin.disconnect());
  return admin;
}
