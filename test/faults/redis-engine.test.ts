// Tests the Redis engine when Redis, or the network before it, fails. The rules of every engine:
// engine-contract.

import { createRequire } from 'node:module';
import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { Unavailable } from '../../src/contract/store-fault.ts';
import type { Engine } from '../../src/store/engine.ts';
import { createRedisEngine } from '../../src/store/redis/redis-engine.ts';
import { announcementOf, listenTo, snapshotOf } from '../store/engine/engine-contract.ts';
import { checkInOf, storedLabelsOf } from '../store/engine/fleet-sample.ts';
import {
  adminOf,
  connected,
  connectedAlone,
  connectedThroughProxy,
  leftovers,
  open,
  redisOf,
} from '../store/engine/redis-fixture.ts';
import { eventually, sleep } from '../support/eventually.ts';
import { packCheckIns } from '../support/pack-check-ins.ts';
import { findRedisCli, startRedisCluster } from '../support/redis-cluster.ts';
import { keys } from '../support/redis-keys.ts';
import { findRedis, type RedisServer } from '../support/redis-server.ts';
import { settlesWithin } from '../support/settles-within.ts';

/** Shorter than the time limit of a call, which is a timer of this process as well. */
const AT_ONCE_MS = 900;

const hasRedis = findRedis() !== undefined;
const hasCluster = hasRedis && findRedisCli() !== undefined;
if (!hasCluster) console.log('Skipped: faults of Redis (no redis-server or redis-cli in PATH)');

const DEBT = { device: 'device', process: 'process', requestId: '1', owed: [] };

/** Makes one call of every kind. */
function everyCall(engine: Engine): Promise<unknown>[] {
  return [
    engine.putSnapshot(snapshotOf('app', 'stable', 1)),
    engine.getSnapshot('app', 'stable'),
    engine.announce(announcementOf('app', 1)),
    engine.countRequest('key', 1, 1000),
    engine.appendCheckIns(packCheckIns([checkInOf('device')])),
    engine.takeCheckIns('taker', 1, 500, 600_000),
    engine.acknowledgeCheckIns(['1-1']),
    engine.countCheckIns(),
    engine.getLabels([storedLabelsOf('device', 1)]),
    engine.putLabels([storedLabelsOf('device', 1)]),
    engine.settleDevices([DEBT]),
  ];
}

/** Expects every kind of call to be refused as unavailable: at once, or else by the time limit of a call. */
async function expectUnavailable(
  engine: Engine,
  when: 'at once' | 'in time',
  begun?: () => Promise<void>,
): Promise<void> {
  const refused = Promise.allSettled(everyCall(engine));
  const isAtOnce = settlesWithin(refused, AT_ONCE_MS);
  await begun?.();
  if (when === 'at once') expect(await isAtOnce).toBe(true);
  for (const call of await refused) {
    expect(call).toMatchObject({ status: 'rejected', reason: expect.any(Unavailable) });
  }
  expect(await engine.isReachable()).toBe(false);
}

describe.skipIf(!hasRedis)('when Redis fails', () => {
  it('restarted empty, it works again without a restart of the engine, and hearing resumes', async () => {
    const { engine, server } = await connectedAlone();
    const heard = await listenTo(engine, 'app');
    await Promise.all(everyCall(engine));
    await server.restart();
    await eventually('the engine is connected again', () => engine.isReachable());
    expect(await engine.getSnapshot('app', 'stable')).toBeUndefined();
    await Promise.all(everyCall(engine));
    expect((await engine.countRequest('key', 1, 1000)).isAllowed).toBe(false);
    await eventually('hearing resumed', () => heard.resumedCount > 0);
    heard.revisions.length = 0;
    await engine.announce(announcementOf('app', 2));
    await eventually('announcements are heard', () => heard.revisions.includes(2));
    expect(heard.resumedCount).toBe(1);
  });

  it('killed, the calls under way and every later one are refused at once', async () => {
    const { engine, faults, server } = await connectedAlone();
    server.pause();
    await expectUnavailable(engine, 'at once', () => server.kill());
    await expectUnavailable(engine, 'at once');
    await eventually('a new connection is refused', () =>
      faults.some(({ message }) => message.includes('ECONNREFUSED')),
    );
    await expectUnavailable(engine, 'at once');
  });

  it('silent, every call is refused within the time limit, and later ones at once', async () => {
    const { engine, faults, server } = await connectedAlone();
    server.pause();
    await expectUnavailable(engine, 'in time');
    faults.length = 0;
    await eventually('a new connection is not answered', () => faults.length > 0);
    await expectUnavailable(engine, 'at once');
    server.resume();
    await eventually('the engine is connected again', () => engine.isReachable());
  });

  it('absent at the start, it is found when it comes, and what may have been missed is told', async () => {
    const server = await redisOf();
    await server.kill();
    const { engine, faults } = open(server.url);
    let resumedCount = 0;
    engine.subscribe(
      () => {},
      () => {
        resumedCount += 1;
      },
    );
    await expectUnavailable(engine, 'at once');
    await eventually('it was tried again', () => faults.length > 3);
    await server.restart();
    await eventually('the engine is connected', () => engine.isReachable());
    await eventually('hearing began late', () => resumedCount === 1);
  });

  it('a connection that died in silence is replaced, for commands and for hearing', async () => {
    const { engine, proxy } = await connectedThroughProxy();
    const heard = await listenTo(engine, 'app');
    proxy.blackhole();
    // As long as both connections need to notice it: they look every second.
    await sleep(2500);
    proxy.heal();
    await eventually('the engine is connected again', () => engine.isReachable());
    await eventually('hearing resumed', () => heard.resumedCount > 0);
    await engine.announce(announcementOf('app', 3));
    await eventually('announcements are heard', () => heard.revisions.includes(3));
  });

  it('closing in any state leaves no timer and no connection behind', async () => {
    const server = await redisOf();
    const inUse = () =>
      process
        .getActiveResourcesInfo()
        .filter((kind) => /^(Timeout|TCPSocketWrap|TLSWrap)$/.test(kind));
    const before = inUse().length;
    const { engine: idle } = await connected(server.url);
    const { engine: listening } = await connected(server.url);
    await listenTo(listening, 'app');
    const { engine: connecting } = open(server.url);
    const { engine: retrying, faults } = open('redis://127.0.0.1:1');
    const { engine: retryingCluster, faults: ofCluster } = open(
      'redis://127.0.0.1:1,redis://127.0.0.1:2',
    );
    const { engine: asking, faults: ofAsking } = open(
      'redis+sentinel://127.0.0.1:1,127.0.0.1:2/main',
    );
    const nothing = () => {};
    for (const engine of [retrying, retryingCluster, connecting, asking]) {
      engine.subscribe(nothing, nothing);
    }
    await eventually('all that have no server have tried', () =>
      [faults, ofCluster, ofAsking].every(({ length }) => length > 0),
    );
    for (const engine of [idle, listening, connecting, retrying, retryingCluster, asking]) {
      await engine.close();
    }
    // The driver lets the waits and time limits of questions to Sentinels run out, a second each.
    await eventually('nothing is left', () => inUse().length <= before);
  });
});

describe.skipIf(!hasRedis)('what lies in Redis', () => {
  it('a malformed announcement is ignored and reported', async () => {
    const { engine, faults, server } = await connectedAlone();
    const heard = await listenTo(engine, 'app');
    const admin = adminOf(server);
    const whole = announcementOf('app', 1);
    const broken = [{ revision: '1' }, { offeredReleaseId: 1 }];
    const objects = broken.map((parts) => JSON.stringify({ ...whole, ...parts }));
    const messages = ['', '{', 'null', '7', ...objects];
    for (const message of messages) await admin.publish(keys.announcements, message);
    await admin.publish(keys.announcements, JSON.stringify(whole));
    await eventually('the whole one is heard', () => heard.revisions.length > 0);
    expect(heard.revisions).toEqual([1]);
    expect(faults).toHaveLength(messages.length);
  });

  it('a rate window does not outlive its last allowed request, nor a clock that was set back', async () => {
    const { engine, server } = await connectedAlone();
    const admin = adminOf(server);
    // A window so long that a busy machine takes no noticeable part of it.
    const windowMs = 60_000;
    await engine.countRequest('short', 5, windowMs);
    const ttlMs = await admin.pttl(keys.rate('short'));
    expect(ttlMs).toBeGreaterThan(windowMs / 2);
    expect(ttlMs).toBeLessThanOrEqual(windowMs + 1);

    const micros = (aheadMs: number) => String((Date.now() + aheadMs) * 1000);
    await admin.rpush(keys.rate('far'), micros(3_600_000));
    expect((await engine.countRequest('far', 1, windowMs)).isAllowed).toBe(true);
    const aheadMs = windowMs / 2;
    await admin.rpush(keys.rate('near'), micros(aheadMs));
    const { isAllowed, waitMs } = await engine.countRequest('near', 1, windowMs);
    expect(isAllowed).toBe(false);
    expect(waitMs).toBeGreaterThan((windowMs + aheadMs) * 0.99);
    expect(waitMs).toBeLessThanOrEqual(windowMs + aheadMs);
  });

  it('the keys of every script lie on one cluster slot, whatever the names are', async () => {
    // Every script takes one key today; the tag keeps it so for keys that are added beside it.
    const require = createRequire(import.meta.url);
    const slotOf = require('cluster-key-slot') as (key: string) => number;
    expect(slotOf(keys.snapshot('app', 'stable'))).toBe(slotOf('app:stable'));
    expect(slotOf(keys.rate('device:1'))).toBe(slotOf('device:1'));
  });
});

describe.skipIf(!hasRedis)('secrets', () => {
  const PASSWORD = 'p@ss:w/rd#1';
  const withLogin = (server: RedisServer, password: string) =>
    `redis://:${encodeURIComponent(password)}@127.0.0.1:${server.port}`;

  it('a password from the URL logs in, for commands and for hearing', async () => {
    const server = await redisOf('--requirepass', PASSWORD);
    const { engine } = await connected(withLogin(server, PASSWORD));
    await listenTo(engine, 'app');
  });

  it('a refused password is neither in a fault nor in a refusal', async () => {
    const server = await redisOf('--requirepass', 'another');
    await expectNoSecret(withLogin(server, PASSWORD), 'WRONGPASS');
  });

  it('a server that echoes the login does not bring the password into the log', async () => {
    // The server acts like a proxy before Redis that knows neither command and quotes unknown ones.
    const server = await redisOf('--rename-command', 'AUTH', '', '--rename-command', 'HELLO', '');
    await expectNoSecret(withLogin(server, PASSWORD), 'unknown command');
  });

  it.each([
    ...['redis://:secret@host:99999', 'http://:secret@host', 'redis://:secret@h/x', ''],
    ...['redis+sentinel://:secret@h1,h2', 'redis+sentinel://:secret@h1,h2/'],
    ...['redis+sentinel://:secret@h1,,h2/name', 'redis+sentinel://:secret@h1,h2/name/main'],
    'redis+sentinel://:secret@h1/name,redis://h2',
  ])('a URL that cannot be understood is refused without being quoted: %s', (url) => {
    const create = () => createRedisEngine({ url, prefix: 'sluice', onFault: () => {} });
    expect(create).toThrow(/^The Redis URL/);
    expect(create).not.toThrow('secret');
  });

  async function expectNoSecret(url: string, reason: string): Promise<void> {
    const { engine, faults } = open(url);
    await eventually('the reason is reported', () =>
      faults.some(({ message }) => message.includes(reason)),
    );
    const refusals = await Promise.allSettled(everyCall(engine));
    const told = inspect([faults, refusals], { depth: null, showHidden: true });
    expect(told).toContain('Unavailable');
    expect(told).not.toContain(PASSWORD);
    expect(told).not.toContain(encodeURIComponent(PASSWORD));
  }
});

describe.skipIf(!hasCluster)('when a Redis Cluster fails', () => {
  it('without the node that it listened on, hearing resumes on another; killed as a whole and started again, it works again', async () => {
    const cluster = await startRedisCluster();
    leftovers.push(() => cluster.stop());
    const { engine } = await connected(cluster.url);
    const heard = await listenTo(engine, 'app');
    await cluster.nodes[0]?.kill();
    await eventually('hearing resumed', () => heard.resumedCount > 0);
    await cluster.nodes[0]?.restart();
    await eventually('every call is answered', () => isServing(engine));

    const before = heard.resumedCount;
    for (const node of cluster.nodes) await node.kill();
    await eventually('the loss is noticed', async () => !(await engine.isReachable()));
    await expectUnavailable(engine, 'at once');
    for (const node of cluster.nodes) await node.restart();
    await eventually('every call is answered', () => isServing(engine));
    await eventually('hearing resumed', () => heard.resumedCount > before);
    await engine.announce(announcementOf('app', 5));
    await eventually('announcements are heard', () => heard.revisions.includes(5));
  });

  it('that has one address, it is recognised by asking, and used as a whole', async () => {
    const cluster = await startRedisCluster();
    leftovers.push(() => cluster.stop());
    const [node] = cluster.nodes as [RedisServer];
    const { engine, faults } = await connected(`redis://127.0.0.1:${node.port}`);
    const heard = await listenTo(engine, 'app');
    await eventually('every call is answered', () => isServing(engine));
    // Calls before the connections to all nodes were open may have failed.
    const allowed = faults.length;
    // Enough channels for every node to have one.
    for (let app = 0; app < 30; app++) {
      await engine.putSnapshot(snapshotOf(`app-${app}`, 'stable', 1));
      expect((await engine.getSnapshot(`app-${app}`, 'stable'))?.revision).toBe(1);
    }
    for (const each of cluster.nodes) expect(await adminOf(each).dbsize()).toBeGreaterThan(0);
    await engine.announce(announcementOf('app', 5));
    await eventually('announcements are heard', () => heard.revisions.includes(5));
    expect(faults.slice(allowed)).toEqual([]);
  });

  async function isServing(engine: Engine): Promise<boolean> {
    const calls = await Promise.allSettled(everyCall(engine));
    return calls.every(({ status }) => status === 'fulfilled');
  }
});
