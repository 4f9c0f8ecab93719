// Tests the engine on a Redis whose primary is named by Sentinels: when another server takes its place,
// announcements and the queue of check-ins go on there. What nodes do meanwhile:
// test/faults/static-stability.test.ts.

import { describe, expect, it } from 'vitest';
import { announcementOf, listenTo } from '../store/engine/engine-contract.ts';
import { checkInOf, devicesIn } from '../store/engine/fleet-sample.ts';
import { adminOf, connected, open } from '../store/engine/redis-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { own } from '../support/own.ts';
import { packCheckIns } from '../support/pack-check-ins.ts';
import {
  REDIS_PASSWORD,
  SENTINEL_PASSWORD,
  type SentinelRedis,
  startSentinelRedis,
} from '../support/redis-sentinel.ts';
import { findRedis } from '../support/redis-server.ts';

const NEVER_MS = 600_000;

describe.skipIf(findRedis() === undefined)('a Redis that Sentinels name', () => {
  it.each([
    [
      'hands over',
      async (redis: SentinelRedis) => {
        await redis.failOver();
        await untilItFollows(redis);
      },
    ],
    ['freezes, and thaws afterwards,', ({ primary }: SentinelRedis) => primary.pause()],
  ])(
    'that %s goes on with its replica; one Sentinel is enough, and none tells no passwords',
    async (_, fail) => {
      const redis = own(await startSentinelRedis());
      const { engine, faults } = await connected(redis.url);
      const { engine: other } = await connected(redis.url);
      const heard = await listenTo(other, 'app');
      await engine.announce(announcementOf('app', 1));
      await eventually('it is heard', () => heard.revisions.includes(1));
      const append = (device: string) =>
        engine.appendCheckIns(packCheckIns([checkInOf(device)])).then(
          (outcome) => outcome === 'accepted',
          () => false,
        );
      expect(await append('a')).toBe(true);

      await fail(redis);
      await redis.untilPromoted();
      await eventually('both are connected', async () => {
        return (await engine.isReachable()) && (await other.isReachable());
      });
      await eventually('a check-in is accepted', () => append('b'));
      await eventually('announcements are heard', async () => {
        await engine.announce(announcementOf('app', 2)).catch(() => undefined);
        return heard.revisions.includes(2);
      });
      redis.primary.resume();
      await untilItFollows(redis);
      // What the replica had is there, and the old primary is not used any more.
      const taken = await other.takeCheckIns('taker', 10, 0, NEVER_MS);
      expect(devicesIn(taken)).toContain('b');
      expect(faults.map(({ message }) => message).join()).not.toContain(REDIS_PASSWORD);

      const [last, ...others] = redis.sentinels;
      await Promise.all(others.map((sentinel) => sentinel.end('SIGKILL')));
      await connected(redis.url);
      await last?.end('SIGKILL');
      expect(await append('c')).toBe(true);
      const { engine: late, faults: lateFaults } = open(redis.url);
      await eventually('the reason is told', () => lateFaults.length > 3);
      expect(await late.isReachable()).toBe(false);
      const told = lateFaults.map(({ message }) => message).join();
      expect(told).toContain('All sentinels are unreachable');
      expect(told).not.toContain(SENTINEL_PASSWORD);
    },
  );
});

/** Waits until the old primary has become a replica: until then it accepts what nobody will ever take. */
async function untilItFollows({ primary }: SentinelRedis): Promise<void> {
  const admin = adminOf(primary);
  await eventually('the old primary follows', async () => (await admin.role())[0] === 'slave');
}
