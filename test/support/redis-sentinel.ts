// Starts a real Redis primary, its replica and three Sentinels that watch them, on free loopback ports.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { eventually } from './eventually.ts';
import { freePort } from './free-port.ts';
import { findRedis, type RedisServer, startRedis } from './redis-server.ts';
import {
  removeFolder,
  type ServerProcess,
  startProcess,
  temporaryFolder,
  waitUntilUp,
} from './server-process.ts';

export type SentinelRedis = {
  /** Address of the Sentinels, with the passwords. */
  readonly url: string;
  readonly sentinels: readonly ServerProcess[];
  /** The server that is the primary at first; its address has the password. */
  readonly primary: RedisServer;
  /** Makes the replica the primary while both run, as an operator would. */
  failOver(): Promise<void>;
  /** Waits until the Sentinels name the replica as the primary. */
  untilPromoted(): Promise<void>;
  stop(): Promise<void>;
};

export const REDIS_PASSWORD = 'of redis, p@ss';
export const SENTINEL_PASSWORD = 'of-sentinel';
const NAME = 'sluice.main';
const SENTINEL_COUNT = 3;
/** Time after which a Sentinel takes a server that says nothing for down. */
const DOWN_AFTER_MS = 500;
const PROMOTION_TIMEOUT_MS = 60_000;

/** Starts the servers; waits until every Sentinel knows the replica and the other Sentinels. */
export async function startSentinelRedis(): Promise<SentinelRedis> {
  const login = ['--requirepass', REDIS_PASSWORD, '--masterauth', REDIS_PASSWORD];
  const prompt = ['--repl-diskless-sync-delay', '0'];
  const primary = await startRedis({ args: [...login, ...prompt] });
  const follow = ['--replicaof', `127.0.0.1 ${primary.port}`];
  const replica = await startRedis({ args: [...login, ...follow] });
  const started = await Promise.all(
    Array.from({ length: SENTINEL_COUNT }, () => startSentinel(primary.port)),
  );
  const [first] = started;
  if (first === undefined) throw new Error('No Sentinel was started');
  for (const { port } of started) {
    await eventually(
      'the Sentinel knows all',
      async () => {
        const [state] = (await askSentinel(port, 'masters')) as string[][];
        const field = (name: string) => state?.[state.indexOf(name) + 1];
        const others = String(SENTINEL_COUNT - 1);
        return field('num-slaves') === '1' && field('num-other-sentinels') === others;
      },
      PROMOTION_TIMEOUT_MS,
    );
  }
  const password = encodeURIComponent(REDIS_PASSWORD);
  const hosts = started.map(({ port }) => `127.0.0.1:${port}`).join(',');
  return {
    url: `redis+sentinel://:${password}@${hosts}/${NAME}?sentinel_password=${SENTINEL_PASSWORD}`,
    sentinels: started.map(({ server }) => server),
    primary: { ...primary, url: `redis://:${password}@127.0.0.1:${primary.port}` },
    failOver: async () => void (await askSentinel(first.port, 'failover', NAME)),
    untilPromoted: () =>
      eventually(
        'the replica is the primary',
        async () => {
          const [, port] = (await askSentinel(
            first.port,
            'get-master-addr-by-name',
            NAME,
          )) as string[];
          return Number(port) === replica.port;
        },
        PROMOTION_TIMEOUT_MS,
      ),
    async stop() {
      await Promise.all(
        started.map(async ({ server, folder }) => {
          await server.end('SIGKILL');
          removeFolder(folder);
        }),
      );
      await Promise.all([primary.stop(), replica.stop()]);
    },
  };
}

async function startSentinel(primaryPort: number) {
  const binary = findRedis();
  if (binary === undefined) throw new Error('No redis-server in PATH');
  const folder = temporaryFolder('sluice-sentinel-');
  const port = await freePort();
  const file = join(folder, 'sentinel.conf');
  const settings = [
    `port ${port}`,
    'bind 127.0.0.1',
    `dir ${folder}`,
    `requirepass ${SENTINEL_PASSWORD}`,
    `sentinel sentinel-pass ${SENTINEL_PASSWORD}`,
    `sentinel monitor ${NAME} 127.0.0.1 ${primaryPort} 2`,
    `sentinel auth-pass ${NAME} "${REDIS_PASSWORD}"`,
    `sentinel down-after-milliseconds ${NAME} ${DOWN_AFTER_MS}`,
    `sentinel failover-timeout ${NAME} 5000`,
  ];
  writeFileSync(file, `${settings.join('\n')}\n`);
  const server = await startProcess(binary, [file, '--sentinel'], { cwd: folder });
  await waitUntilUp(server, () => askSentinel(port, 'masters'));
  return { port, server, folder };
}

async function askSentinel(port: number, ...args: readonly string[]): Promise<unknown> {
  const redis = new Redis({
    port,
    host: '127.0.0.1',
    password: SENTINEL_PASSWORD,
    enableReadyCheck: false,
    retryStrategy: null,
    maxRetriesPerRequest: 0,
    lazyConnect: true,
  });
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    return await redis.call('SENTINEL', ...args);
  } finally {
    redis.disconnect();
  }
}
