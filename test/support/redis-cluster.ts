// Starts a real Redis Cluster of three primaries, on free loopback ports.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { eventually } from './eventually.ts';
import { findBinary } from './find-binary.ts';
import { freePort } from './free-port.ts';
import { type RedisServer, startRedis } from './redis-server.ts';

export type RedisCluster = {
  /** Addresses of all nodes, with commas between them. */
  readonly url: string;
  readonly nodes: readonly RedisServer[];
  stop(): Promise<void>;
};

const NODE_COUNT = 3;

/** The `redis-cli` binary, which forms clusters, when there is one. */
export function findRedisCli(): string | undefined {
  return findBinary('redis-cli');
}

/** Starts the nodes, forms the cluster and waits until every node sees it whole. */
export async function startRedisCluster(): Promise<RedisCluster> {
  const nodes: RedisServer[] = [];
  const stop = async () => {
    await Promise.all(nodes.map((node) => node.stop()));
  };
  try {
    while (nodes.length < NODE_COUNT) {
      // The default bus port, ten thousand above, may not exist.
      const cluster = ['--cluster-enabled', 'yes', '--cluster-port', String(await freePort())];
      nodes.push(await startRedis({ args: [...cluster, '--cluster-node-timeout', '2000'] }));
    }
    await form(nodes);
    return { url: nodes.map(({ url }) => url).join(','), nodes, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function form(nodes: readonly RedisServer[]): Promise<void> {
  const cli = findRedisCli();
  if (cli === undefined) throw new Error('No redis-cli in PATH');
  const run = promisify(execFile);
  const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`);
  await run(cli, ['--cluster', 'create', ...addresses, '--cluster-yes'], { timeout: 120_000 });
  for (const { port } of nodes) {
    await eventually('the node sees the cluster whole', async () => {
      const { stdout } = await run(cli, ['-p', String(port), 'cluster', 'info']);
      return stdout.includes('cluster_state:ok');
    });
  }
}
