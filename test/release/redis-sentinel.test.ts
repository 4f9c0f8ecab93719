// Tests the engine and nodes on a Redis whose primary is named by Sentinels: when another server takes its
// place, announcements and the queue of check-ins go on there, and devices see nothing.

import { afterEach, describe, expect, inject, it } from 'vitest';
import { announcementOf, listenTo } from '../store/engine/engine-contract.ts';
import { checkInOf, devicesIn } from '../store/engine/fleet-sample.ts';
import { connected, open } from '../store/engine/redis-fixture.ts';
import { describeOnRealStores } from '../support/backend.ts';
import { eventually, sleep } from '../support/eventually.ts';
import { FULL_ONLY, IS_FULL } from '../support/full-run.ts';
import { migratedDatabase } from '../support/migrated-database.ts';
import { startNode } from '../support/node.ts';
import { packCheckIns } from '../support/pack-check-ins.ts';
import {
  REDIS_PASSWORD,
  SENTINEL_PASSWORD,
  type SentinelRedis,
  startSentinelRedis,
} from '../support/redis-sentinel.ts';
import { findRedis } from '../support/redis-server.ts';
import { check, createTenant, devicesOf, publish } from '../support/tenant.ts';

const NEVER_MS = 600_000;

const endings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end();
});

async function startRedis(): Promise<SentinelRedis> {
  const redis = await startSentinelRedis();
  endings.push(() => redis.stop());
  return redis;
}

describe.skipIf(findRedis() === undefined)('a Redis that Sentinels name', () => {
  const manners = [
    {
      manner: 'is told to hand over',
      fail: (redis: SentinelRedis) => redis.failOver(),
      undo: () => undefined,
    },
    {
      manner: 'is frozen, and goes on afterwards',
      fail: ({ primary }: SentinelRedis) => primary.pause(),
      undo: ({ primary }: SentinelRedis) => primary.resume(),
    },
  ];

  // In full every manner, and nodes.
  it.each(IS_FULL ? manners : manners.slice(0, 1))(
    'that $manner: announcements and the queue go on with its replica',
    async ({ fail, undo }) => {
      const redis = await startRedis();
      const { engine, faults } = await connected(redis.url);
      const { engine: other } = await connected(redis.url);
      const heard = await listenTo(other, 'app');
      await engine.announce(announcementOf('app', 1));
      await eventually('it is heard', () => heard.revisions.includes(1));
      await engine.appendCheckIns(packCheckIns([checkInOf('a')]));

      await fail(redis);
      await redis.untilPromoted();
      await eventually('both are connected', async () => {
        return (await engine.isReachable()) && (await other.isReachable());
      });
      await eventually('a check-in is accepted', () =>
        engine.appendCheckIns(packCheckIns([checkInOf('b')])).then(
          (outcome) => outcome === 'accepted',
          () => false,
        ),
      );
      await eventually('announcements are heard', async () => {
        await engine.announce(announcementOf('app', 2)).catch(() => undefined);
        return heard.revisions.includes(2);
      });
      undo(redis);
      if (IS_FULL) await sleep(1000);
      // What the replica had is there, and the old primary is not used any more.
      const taken = await other.takeCheckIns('taker', 10, 0, NEVER_MS);
      expect(devicesIn(taken)).toContain('b');
      expect(faults.map(({ message }) => message).join()).not.toContain(REDIS_PASSWORD);
    },
  );

  it('one Sentinel is enough; without any, nothing is told of the passwords', async () => {
    const redis = await startRedis();
    const [first, second, third] = redis.sentinels;
    await Promise.all([first?.end('SIGKILL'), second?.end('SIGKILL')]);
    const { engine } = await connected(redis.url);
    await engine.appendCheckIns(packCheckIns([checkInOf('a')]));
    await third?.end('SIGKILL');
    await engine.appendCheckIns(packCheckIns([checkInOf('b')]));
    const { engine: late, faults } = open(redis.url);
    await eventually('the reason is told', () => faults.length > 3);
    expect(await late.isReachable()).toBe(false);
    const told = faults.map(({ message }) => message).join();
    expect(told).toContain('All sentinels are unreachable');
    expect(told).not.toContain(SENTINEL_PASSWORD);
  });
});

describeOnRealStores('nodes on a Redis that Sentinels name', () => {
  it.skipIf(!IS_FULL)(
    `answer every device through a fail-over, and record them afterwards${FULL_ONLY}`,
    async () => {
      const [redis, database] = await Promise.all([
        startRedis(),
        migratedDatabase(inject('postgresUrl')),
      ]);
      endings.push(() => database.drop());
      const start = async () => {
        const node = await startNode({ DATABASE_URL: database.url, REDIS_URL: redis.url });
        endings.push(() => node.dispose());
        return node;
      };
      const [one, other] = await Promise.all([start(), start()]);
      const tenant = await createTenant(one);
      await publish(one, tenant, '1.0.0');
      for (const node of [one, other]) {
        await eventually('1.0.0 is offered', async () => {
          return (await check(node, tenant, '0.9.0')).body?.version === '1.0.0';
        });
      }

      const failures: number[] = [];
      let isOver = false;
      const devices = (async () => {
        for (let index = 0; !isOver; index++) {
          for (const node of [one, other]) {
            const device = `device-${index % 50}`;
            const { status } = await check(node, tenant, '0.9.0', { device });
            if (status !== 200) failures.push(status);
          }
          await sleep(20);
        }
      })();
      await redis.primary.kill();
      expect((await publish(one, tenant, '1.1.0')).status).toBe(201);
      await redis.untilPromoted();
      await eventually('the other node serves what was published meanwhile', async () => {
        return (await check(other, tenant, '0.9.0')).body?.version === '1.1.0';
      });
      const late = await check(one, tenant, '0.9.0', { device: 'late' });
      expect(late.status).toBe(200);
      await eventually('devices are recorded', async () => {
        return (await devicesOf(other, tenant)).some(({ deviceId }) => deviceId === 'late');
      });
      isOver = true;
      await devices;
      expect(failures).toEqual([]);
      expect(`${one.output()}${other.output()}`).not.toContain(SENTINEL_PASSWORD);
    },
  );
});
