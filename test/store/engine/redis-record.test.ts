// Tests engines whose Redis belongs to another record: nothing is read from it, written to it or heard of it,
// and it is used once it is another one (docs/operating/backup.md).

import { describe, expect, it } from 'vitest';
import { OfAnotherRecord, Unavailable } from '../../../src/contract/store-fault.ts';
import { createRedisEngine, type RedisEngine } from '../../../src/store/redis/redis-engine.ts';
import { eventually } from '../../support/eventually.ts';
import { packCheckIns } from '../../support/pack-check-ins.ts';
import { keys } from '../../support/redis-keys.ts';
import { findRedis, type RedisServer } from '../../support/redis-server.ts';
import { startProxy } from '../../support/tcp-proxy.ts';
import { announcementOf, listenTo, snapshotOf } from './engine-contract.ts';
import { checkInOf } from './fleet-sample.ts';
import { adminOf, leftovers, redisOf } from './redis-fixture.ts';

const CHANNEL = { appId: 'app_1', appRef: 'app', channelId: 'chn_1', channel: 'stable' };
const NAMES = { tag: 'names', isComplete: true, channels: [CHANNEL] };
const NEVER_MS = 600_000;

/** Engine of a node, which knows its record once it is told, and the refusals that it has reported. */
function openEngine(url: string): { engine: RedisEngine; refusals: unknown[] } {
  const refusals: unknown[] = [];
  const engine = createRedisEngine({
    url,
    prefix: 'sluice',
    onFault: () => undefined,
    onRefused: (refusal) => refusals.push(refusal),
  });
  leftovers.push(() => engine.close());
  return { engine, refusals };
}

/** Engine of a node of a record; `knowsSome` is what its ledger says of channels. */
async function engineOf(url: string, record: string, knowsSome = async () => false) {
  const opened = openEngine(url);
  opened.engine.belongTo(record, knowsSome);
  await eventually('it is settled', async () => {
    return (await opened.engine.isReachable()) || opened.refusals.length > 0;
  });
  return opened;
}

async function withNames(server: RedisServer): Promise<void> {
  const { engine } = await engineOf(server.url, 'rec_a');
  await engine.putChannelNames(NAMES);
  await engine.putSnapshot(snapshotOf('app', 'stable', 2));
  await engine.appendCheckIns(packCheckIns([checkInOf('a')]));
}

describe.skipIf(findRedis() === undefined)('a Redis that belongs to a record', () => {
  it('is refused by nodes of another one, for reading, writing and hearing', async () => {
    const server = await redisOf();
    await withNames(server);
    const admin = adminOf(server);
    const before = (await admin.keys('*')).sort();
    const { engine, refusals } = await engineOf(server.url, 'rec_b');
    expect(refusals).toEqual([expect.any(OfAnotherRecord)]);
    expect(engine.lastFailure()).toBe(refusals[0]);
    const heard: unknown[] = [];
    engine.subscribe(
      (announcement) => heard.push(announcement),
      () => undefined,
    );
    const calls = [
      () => engine.getSnapshot('app', 'stable'),
      () => engine.getChannelNames(undefined),
      () => engine.putChannelNames({ ...NAMES, tag: 'other' }),
      () => engine.putSnapshot(snapshotOf('app', 'stable', 9)),
      () => engine.takeCheckIns('taker', 1, 0, NEVER_MS),
      () => engine.appendCheckIns(packCheckIns([checkInOf('b')])),
      () => engine.countRequest('key', 1, NEVER_MS),
      () => engine.countCheckIns(),
      () => engine.announce(announcementOf('app', 9)),
    ];
    for (const call of calls) await expect(call()).rejects.toBeInstanceOf(OfAnotherRecord);
    const { engine: own } = await engineOf(server.url, 'rec_a');
    const told = await listenTo(own, 'app');
    await eventually('both have subscribed', async () => {
      return (await admin.pubsub('NUMSUB', keys.announcements))[1] === 2;
    });
    await own.announce(announcementOf('app', 3));
    await eventually('it is told', () => told.revisions.includes(3));
    expect(heard).toEqual([]);
    expect((await admin.keys('*')).sort()).toEqual(before);
    // What it remembers is told all the same: it may be all that anybody knows.
    const shared = { record: 'rec_a', tag: 'names' };
    expect(await engine.readShared(undefined)).toEqual({ ...shared, list: NAMES });
    expect(await engine.readShared('names')).toEqual({ ...shared, list: undefined });
  });

  it('is used once it is that of the node, and refused again when it is not, behind one address', async () => {
    const [mine, theirs] = [await redisOf(), await redisOf()];
    await withNames(theirs);
    const way = await startProxy(theirs.port);
    leftovers.push(() => way.close());
    const { engine, refusals } = await engineOf(`redis://127.0.0.1:${way.port}`, 'rec_b');
    way.moveTo(mine.port);
    await eventually('it is used', () => engine.isReachable());
    expect(refusals.at(-1)).toBeUndefined();
    await engine.putChannelNames(NAMES);
    way.moveTo(theirs.port);
    // The first call on the new connection is refused already.
    await eventually('it is refused', async () => {
      const error = await engine.getSnapshot('app', 'stable').catch((fault: unknown) => fault);
      expect(error).toBeInstanceOf(Unavailable);
      return error instanceof OfAnotherRecord;
    });
  });

  it('is noticed when another one takes its place on the same connection, or its name is lost', async () => {
    const server = await redisOf();
    const { engine, refusals } = await engineOf(server.url, 'rec_a');
    const admin = adminOf(server);
    const nameOf = () => admin.hget(keys.record, 'name');
    await admin.flushall();
    await eventually('it is named again', async () => (await nameOf()) === 'rec_a');
    expect(refusals).toEqual([]);
    await admin.hset(keys.record, 'name', 'rec_b');
    await eventually('it is refused', () => refusals.length === 1);
    expect(await engine.isReachable()).toBe(false);
  });

  it('is used whoever it belongs to while a node does not know its own record', async () => {
    const server = await redisOf();
    await withNames(server);
    const { engine } = openEngine(server.url);
    await eventually('it is connected', () => engine.isReachable());
    expect(await engine.getSnapshot('app', 'stable')).toMatchObject({ revision: 2 });
    engine.belongTo('rec_b', async () => false);
    await eventually('it is refused', async () => !(await engine.isReachable()));
    engine.belongTo(undefined, async () => false);
    expect(await engine.getSnapshot('app', 'stable')).toMatchObject({ revision: 2 });
  });

  it.each([true, false])(
    'without a name, as nodes of earlier versions leave it, is judged by its channels (%s)',
    async (isKnown) => {
      const server = await redisOf();
      await withNames(server);
      const admin = adminOf(server);
      await admin.del(keys.record);
      const asked: unknown[] = [];
      const { engine } = openEngine(server.url);
      await eventually('it is connected', () => engine.isReachable());
      engine.belongTo('rec_b', async (channels) => {
        asked.push(...channels);
        return isKnown;
      });
      await eventually('it is settled', async () => (await engine.isReachable()) === isKnown);
      expect(asked).toContainEqual(CHANNEL);
      expect(await admin.hget(keys.record, 'name')).toBe(isKnown ? 'rec_b' : null);
    },
  );
});
