// Tests deployments that share a Redis: with a prefix of their own on one database, or on two databases with
// one prefix. Neither meets what the other one has stored, queued or announced.

import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/store/engine.ts';
import { createRedisEngine } from '../../../src/store/redis/redis-engine.ts';
import { eventually } from '../../support/eventually.ts';
import { packCheckIns } from '../../support/pack-check-ins.ts';
import { findRedis } from '../../support/redis-server.ts';
import { announcementOf, listenTo, snapshotOf } from './engine-contract.ts';
import { ANSWER_MS_MAX } from './engines-under-test.ts';
import { checkInOf, devicesIn, storedLabelsOf } from './fleet-sample.ts';
import { leftovers, redisOf } from './redis-fixture.ts';

const NEVER_MS = 600_000;

async function deployment(url: string, prefix: string): Promise<Engine> {
  const engine = createRedisEngine({
    ...{ url, prefix, answerMsMax: ANSWER_MS_MAX },
    onFault: () => undefined,
  });
  leftovers.push(() => engine.close());
  await eventually('the engine is connected', () => engine.isReachable());
  return engine;
}

/** Everything that is published on the server, by the names of the pub/sub channels. */
async function listenToAll(url: string): Promise<Set<string>> {
  const heard = new Set<string>();
  const redis = new Redis(url);
  leftovers.push(async () => redis.disconnect());
  redis.on('pmessage', (_pattern, channel) => heard.add(channel));
  await redis.psubscribe('*');
  return heard;
}

/** Publishes a message of each kind; returns the names of the pub/sub channels. */
async function publishAll(
  engine: Engine,
  published: Set<string>,
  revision: number,
): Promise<readonly string[]> {
  published.clear();
  await engine.announce(announcementOf('app', revision));
  await engine.shareActivity([]);
  await engine.tellLabels([]);
  await eventually('all is published', () => published.size === 3);
  return [...published];
}

describe.skipIf(findRedis() === undefined)('deployments that share a Redis', () => {
  it.each([
    { name: 'with prefixes of their own', paths: ['', ''], prefixes: ['blue', 'green.2'] },
    { name: 'on databases of their own', paths: ['/0', '/3'], prefixes: ['sluice', 'sluice'] },
  ])('$name do not meet (Environment)', async ({ paths, prefixes }) => {
    const server = await redisOf();
    const urls = paths.map((path) => server.url + path);
    const [one, other] = (await Promise.all(
      urls.map((url, index) => deployment(url, prefixes[index] ?? '')),
    )) as [Engine, Engine];
    const published = await listenToAll(server.url);
    const heard = await Promise.all([one, other].map((engine) => listenTo(engine, 'app')));

    await one.putSnapshot(snapshotOf('app', 'stable', 2));
    await one.appendCheckIns(packCheckIns([checkInOf('a')]));
    await one.countRequest('key', 1, NEVER_MS);
    const own = await publishAll(one, published, 2);
    expect(await other.getSnapshot('app', 'stable')).toBeUndefined();
    expect(await other.takeCheckIns('taker', 1, 0, NEVER_MS)).toEqual([]);
    expect((await other.countRequest('key', 1, NEVER_MS)).isAllowed).toBe(true);
    expect(devicesIn(await one.takeCheckIns('taker', 1, 0, NEVER_MS))).toEqual(['a']);

    const foreign = await publishAll(other, published, 7);
    expect(own.filter((channel) => foreign.includes(channel))).toEqual([]);
    await eventually('each heard its own', () =>
      heard.every(({ revisions }) => revisions.length > 0),
    );
    expect(heard.map(({ revisions }) => revisions)).toEqual([[2], [7]]);
  });

  it('everything is named below the prefix, and sluice has the names that it always had', async () => {
    const server = await redisOf();
    const published = await listenToAll(server.url);
    const names = new Map<string, string[]>();
    const admin = new Redis(server.url);
    leftovers.push(async () => admin.disconnect());
    for (const prefix of ['sluice', 'blue']) {
      await admin.flushall();
      const engine = await deployment(server.url, prefix);
      await engine.putSnapshot(snapshotOf('app', 'stable', 2));
      await engine.putChannelNames({ tag: '1', channels: [], isComplete: true });
      await engine.appendCheckIns(packCheckIns([checkInOf('a')]));
      await engine.putLabels([storedLabelsOf('device', 1)]);
      await engine.countRequest('key', 1, NEVER_MS);
      await engine.settleDevices([{ device: 'd', process: 'p', requestId: '1', owed: [] }]);
      const channels = await publishAll(engine, published, 2);
      names.set(prefix, [...(await admin.keys('*')), ...channels].sort());
    }
    const below = (prefix: string) =>
      names.get(prefix)?.map((name) => {
        expect(name.startsWith(`${prefix}:`)).toBe(true);
        return name.slice(prefix.length).replace(`{${prefix}:`, '{');
      });
    expect(below('blue')).toEqual(below('sluice'));
    expect(below('blue')).toEqual(
      expect.arrayContaining([':announcements', ':check-ins:4', ':snapshot:3:{app:stable}']),
    );
  });
});
