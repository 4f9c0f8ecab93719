// Tests that a drain without check-ins asks Redis little, and takes the next check-in all the same.

import { describe, expect, it } from 'vitest';
import { packCheckIns } from '../../support/pack-check-ins.ts';
import { findRedis } from '../../support/redis-server.ts';
import { checkInOf } from './fleet-sample.ts';
import { adminOf, connected, redisOf } from './redis-fixture.ts';

const hasRedis = findRedis() !== undefined;
if (!hasRedis) console.log('Skipped: takes of an empty queue in Redis (no redis-server in PATH)');

const WAIT_MS = 200;
const ABANDONED_MS = 30_000;

describe.skipIf(!hasRedis)('a take of an empty queue', () => {
  it('looks at each stream once, then asks for all of them with one command until one has a batch', async () => {
    const server = await redisOf();
    const { engine } = await connected(server.url);
    const admin = adminOf(server);
    const take = () => engine.takeCheckIns('taker', 10, WAIT_MS, ABANDONED_MS);
    const looks = async () => {
      const stats = await admin.info('commandstats');
      return Number(/^cmdstat_xautoclaim:calls=(\d+)/m.exec(stats)?.[1] ?? 0);
    };
    expect(await take()).toEqual([]);
    const looked = await looks();
    expect(await take()).toEqual([]);
    expect(await looks()).toBe(looked);
    await engine.appendCheckIns(packCheckIns([checkInOf('device')]), 5);
    expect(await take()).toHaveLength(1);
  });
});
