// The engine contract against every implementation: memory, Redis, Redis Cluster.

import { inject, it } from 'vitest';
import { createMemoryEngine } from '../../src/engine/memory/memory-engine.ts';
import { createRedisEngine } from '../../src/engine/redis/redis-engine.ts';
import { eventually } from '../support/eventually.ts';
import { findRedisCli, startRedisCluster } from '../support/redis-cluster.ts';
import { type EnginesUnderTest, engineContract } from './engine-contract.ts';

engineContract('memory', async () => {
  const engine = createMemoryEngine();
  return { engine, second: engine, dispose: () => engine.close() };
});

const redisUrl = inject('redisUrl');
if (redisUrl === '') skip('Redis', 'no redis-server in PATH');
else engineContract('Redis', () => connectTwo(redisUrl));

if (redisUrl === '') skip('Redis Cluster', 'no redis-server in PATH');
else if (findRedisCli() === undefined) skip('Redis Cluster', 'no redis-cli in PATH');
else
  engineContract('Redis Cluster', async () => {
    const cluster = await startRedisCluster();
    const engines = await connectTwo(cluster.url);
    return {
      ...engines,
      dispose: async () => {
        await engines.dispose();
        await cluster.stop();
      },
    };
  });

async function connectTwo(url: string): Promise<EnginesUnderTest> {
  const [engine, second] = [connect(url), connect(url)];
  await eventually('both engines are connected', async () => {
    const answers = await Promise.all([engine.isReachable(), second.isReachable()]);
    return answers.every(Boolean);
  });
  return {
    engine,
    second,
    dispose: async () => {
      await engine.close();
      await second.close();
    },
  };
}

function connect(url: string) {
  return createRedisEngine({ url, onFault: () => {} });
}

function skip(name: string, reason: string): void {
  console.log(`Skipped: engine contract on ${name} (${reason})`);
  it.skip(`engine contract: ${name} (${reason})`, () => {});
}
