// Runs the engine contract against every implementation: memory, Redis, Redis Cluster.

import { describe, it } from 'vitest';
import { createMemoryEngine } from '../../src/engine/memory/memory-engine.ts';
import { CHECK_IN_STREAMS } from '../../src/engine/redis/check-in-streams.ts';
import { createRedisEngine } from '../../src/engine/redis/redis-engine.ts';
import { eventually } from '../support/eventually.ts';
import { findRedisCli, startRedisCluster } from '../support/redis-cluster.ts';
import { findRedis, startRedis } from '../support/redis-server.ts';
import { engineContract } from './engine-contract.ts';
import type { EnginesUnderTest } from './engines-under-test.ts';
import { labelRules } from './label-contract.ts';

/** Few enough that a test fills it, and more than any other test appends. */
const CHECK_IN_BYTES_MAX = 8 * 2 ** 20;

engineContract('memory', async () => {
  const engine = createMemoryEngine({ checkInBytesMax: CHECK_IN_BYTES_MAX });
  return { engine, second: engine, dispose: () => engine.close() };
});

describe('engine contract: memory, with notes of labels', () => {
  const engine = createMemoryEngine({ labelNotesEndedBefore: () => Number.NEGATIVE_INFINITY });
  labelRules(() => ({ engine, second: engine, dispose: () => engine.close() }));
});

const hasRedis = findRedis() !== undefined;
if (!hasRedis) skip('Redis', 'no redis-server in PATH');
else engineContract('Redis', () => connectTwo(startRedis()));

if (!hasRedis) skip('Redis Cluster', 'no redis-server in PATH');
else if (findRedisCli() === undefined) skip('Redis Cluster', 'no redis-cli in PATH');
else engineContract('Redis Cluster', () => connectTwo(startRedisCluster()));

/**
 * Connects two engines to a store of their own, because the queue of check-ins has no name that tells users
 * apart.
 */
async function connectTwo(
  starting: Promise<{ readonly url: string; stop(): Promise<void> }>,
): Promise<EnginesUnderTest> {
  const store = await starting;
  const [engine, second] = [connect(store.url), connect(store.url)];
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
      await store.stop();
    },
  };
}

function connect(url: string) {
  return createRedisEngine({
    url,
    prefix: 'sluice',
    // Each of its streams has a share of the bound.
    checkInBytesMax: CHECK_IN_BYTES_MAX * CHECK_IN_STREAMS,
    onFault: () => {},
  });
}

function skip(name: string, reason: string): void {
  console.log(`Skipped: engine contract on ${name} (${reason})`);
  // biome-ignore lint/suspicious/noSkippedTests: the title tells what is missing on this machine.
  it.skip(`engine contract: ${name} (${reason})`, () => {});
}
