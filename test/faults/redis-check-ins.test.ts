// Tests check-ins in Redis when Redis, the network or a taker fails, and their form in Redis meanwhile. The
// rules of every engine: check-in-contract.

import type { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { Unavailable } from '../../src/contract/store-fault.ts';
import { packCheckInPayload } from '../../src/domain/fleet/check-in-payload.ts';
import type { Engine } from '../../src/store/engine.ts';
import { batchOf, checkInOf, devicesIn, idsOf } from '../store/engine/fleet-sample.ts';
import {
  adminOf,
  connected,
  connectedAlone,
  connectedThroughProxy,
  leftovers,
} from '../store/engine/redis-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { packCheckIns } from '../support/pack-check-ins.ts';
import { findRedisCli, startRedisCluster } from '../support/redis-cluster.ts';
import { keys } from '../support/redis-keys.ts';
import { findRedis, type RedisServer } from '../support/redis-server.ts';
import type { NetworkProxy } from '../support/tcp-proxy.ts';

/** The first stream, which batches go to when none is named. */
const STREAM = keys.checkIns(0);
const NEVER_MS = 600_000;

const hasRedis = findRedis() !== undefined;
const hasCluster = hasRedis && findRedisCli() !== undefined;
if (!hasCluster) console.log('Skipped: check-ins in Redis (no redis-server or redis-cli in PATH)');

/** Appends a batch for each device, in their order; returns what became of the last one. */
async function append(engine: Engine, ...devices: readonly string[]): Promise<string> {
  let outcome = '';
  for (const each of devices) outcome = await engine.appendCheckIns(packCheckIns(batchOf(each)));
  return outcome;
}

/** Ends the faults of the network, and the connections that met them. */
async function mend(proxy: NetworkProxy, engine: Engine): Promise<void> {
  proxy.heal();
  proxy.cut();
  await eventually('the engine is connected again', () => engine.isReachable());
}

/** Returns the takers that Redis knows, each with the milliseconds since it asked last. */
async function takersIn(admin: Redis): Promise<ReadonlyMap<string, number>> {
  const all = (await admin.xinfo('CONSUMERS', STREAM, 'drain')) as string[][];
  return new Map(all.map((each) => [String(each[1]), Number(each[each.indexOf('idle') + 1])]));
}

/** Begins a take that waits; resolves when it has asked the server, with the expectation of its refusal. */
async function beginWaiting(engine: Engine, server: RedisServer) {
  const admin = adminOf(server);
  // Scripts that were run: a taker polls by one.
  const runs = async () =>
    Number(/^cmdstat_evalsha:calls=(\d+)/m.exec(await admin.info('commandstats'))?.[1] ?? 0);
  const before = await runs();
  const wait = engine.takeCheckIns('taker', 1, 20_000, NEVER_MS);
  const refused = expect(wait).rejects.toBeInstanceOf(Unavailable);
  await eventually('the taker has asked', async () => (await runs()) > before);
  return { refused };
}

describe.skipIf(!hasRedis)('when Redis fails', () => {
  it('restarted empty in the middle, the queue works on without a restart of the engine', async () => {
    const { engine, server } = await connectedAlone();
    await append(engine, 'a', 'b');
    const taken = await engine.takeCheckIns('taker', 1, 0, NEVER_MS);
    await server.restart();
    await eventually('the engine is connected again', () => engine.isReachable());
    expect(await engine.countCheckIns()).toBe(0);
    await engine.acknowledgeCheckIns(idsOf(taken));
    expect(await engine.takeCheckIns('taker', 1, 0, NEVER_MS)).toEqual([]);
    await server.restart();
    await eventually('the engine is connected again', () => engine.isReachable());
    // This time there is a batch before there is a taker.
    await append(engine, 'c');
    const takenAgain = await engine.takeCheckIns('taker', 5, 0, NEVER_MS);
    expect(devicesIn(takenAgain)).toEqual(['c']);
    await engine.acknowledgeCheckIns(idsOf(takenAgain));
    expect(await engine.countCheckIns()).toBe(0);
  });

  it('silent, a taker that waits is refused within the time limit', async () => {
    const { engine, server } = await connectedAlone();
    const { refused } = await beginWaiting(engine, server);
    server.pause();
    await refused;
    server.resume();
    await eventually('the engine is connected again', () => engine.isReachable());
    await append(engine, 'a');
    expect(devicesIn(await engine.takeCheckIns('taker', 1, 1000, NEVER_MS))).toEqual(['a']);
  });

  it('out of memory, it refuses batches and still hands out what it has', async () => {
    const { engine, server } = await connectedAlone();
    await append(engine, 'a', 'b');
    await engine.takeCheckIns('dead', 1, 0, NEVER_MS);
    await adminOf(server).config('SET', 'maxmemory', '1');
    await expect(append(engine, 'c')).rejects.toBeInstanceOf(Unavailable);
    // It keeps no new taker either, and says so instead of refusing.
    expect(await engine.shareCheckIns('never seen before')).toEqual([]);
    const taken = await engine.takeCheckIns('never seen before', 5, 0, 0);
    expect(devicesIn(taken)).toEqual(['a', 'b']);
    await engine.acknowledgeCheckIns(idsOf(taken));
    expect(await engine.countCheckIns()).toBe(0);
  });
});

describe.skipIf(!hasRedis)('when an answer is lost', () => {
  it('a batch whose acceptance was not heard is there; appended again, it arrives at least once', async () => {
    const { engine, proxy } = await connectedThroughProxy();
    await append(engine, 'before');
    proxy.dropWhen((chunk) => chunk.toString() === ':1\r\n');
    await expect(append(engine, 'a')).rejects.toBeInstanceOf(Unavailable);
    await mend(proxy, engine);
    expect(await append(engine, 'a')).toBe('accepted');
    const taken = await engine.takeCheckIns('taker', 5, 0, NEVER_MS);
    expect(devicesIn(taken)).toEqual(['before', 'a', 'a']);
  });

  it('they are handed to their taker with its next take, and only once', async () => {
    const { engine, proxy } = await connectedThroughProxy();
    await append(engine, 'in-hand');
    const take = (batchesMax: number) => engine.takeCheckIns('taker', batchesMax, 0, NEVER_MS);
    expect(devicesIn(await take(1))).toEqual(['in-hand']);
    await append(engine, 'a', 'b', 'c');
    proxy.dropWhen((chunk) => chunk.toString().includes('stable'));
    await expect(take(2)).rejects.toBeInstanceOf(Unavailable);
    await mend(proxy, engine);
    // With what it holds: the taker may not have it any more either.
    expect(devicesIn(await take(5))).toEqual(['in-hand', 'a', 'b']);
    expect(devicesIn(await take(5))).toEqual(['c']);
    expect(devicesIn(await take(5))).toEqual([]);
  });

  it('what other streams answered is handed out all the same', async () => {
    const { engine, proxy } = await connectedThroughProxy();
    const take = () => engine.takeCheckIns('taker', 5, 0, NEVER_MS, [0, 1, 2]);
    // Each take begins with the next stream: the one after this begins with the last.
    expect(await take()).toEqual([]);
    for (const [stream, device] of ['a', 'unheard', 'c'].entries()) {
      await engine.appendCheckIns(packCheckIns(batchOf(device)), stream);
    }
    proxy.dropWhen((chunk) => chunk.toString().includes('unheard'));
    expect(devicesIn(await take())).toEqual(['c', 'a']);
    await mend(proxy, engine);
    expect(devicesIn(await take())).toEqual(['unheard']);
  });
});

describe.skipIf(!hasRedis)('what lies in Redis', () => {
  it('of takers that are gone nothing is left, unless batches are', async () => {
    const { engine, server } = await connectedAlone();
    await append(engine, 'a', 'b', 'c', 'd');
    await engine.acknowledgeCheckIns(idsOf(await engine.takeCheckIns('gone', 1, 0, NEVER_MS)));
    await engine.takeCheckIns('gone with two batches', 2, 0, NEVER_MS);
    const admin = adminOf(server);
    await eventually('they are gone for 50 ms', async () =>
      [...(await takersIn(admin)).values()].every((idleMs) => idleMs > 50),
    );
    const { engine: joining } = await connected(server.url);
    expect(devicesIn(await joining.takeCheckIns('new', 1, 0, 50))).toEqual(['b']);
    expect([...(await takersIn(admin)).keys()].sort()).toEqual(['gone with two batches', 'new']);
  });

  it('what somebody deleted from the stream holds up no other', async () => {
    const { engine, server } = await connectedAlone();
    await append(engine, 'a', 'b', 'c');
    const [first] = await engine.takeCheckIns('dead', 2, 0, NEVER_MS);
    await adminOf(server).xdel(STREAM, first?.id.split('/')[1] ?? '');
    expect(devicesIn(await engine.takeCheckIns('heir', 5, 0, 0))).toEqual(['b', 'c']);
  });

  it('batches of a version that knew no totals are taken, and do not stop others', async () => {
    const { engine, server } = await connectedAlone();
    const admin = adminOf(server);
    const appendAsBefore = (device: string) => {
      const pack = packCheckIns(batchOf(device));
      const payload = packCheckInPayload(pack, (length) => Buffer.alloc(length));
      return admin.xadd(STREAM, '*', 'batch', payload);
    };
    await appendAsBefore('a');
    expect(await append(engine, 'b')).toBe('accepted');
    await appendAsBefore('c');
    expect(await engine.weighCheckIns()).toBeGreaterThan(0);
    expect(await append(engine, 'd')).toBe('accepted');
    const taken = await engine.takeCheckIns('taker', 10, 0, NEVER_MS);
    expect(devicesIn(taken)).toEqual(['a', 'b', 'c', 'd']);
    await engine.acknowledgeCheckIns(idsOf(taken).slice(0, 1));
    expect(await engine.weighCheckIns()).toBeGreaterThanOrEqual(0);
    await engine.acknowledgeCheckIns(idsOf(taken));
    expect(await engine.weighCheckIns()).toBe(0);
  });

  it('a malformed batch is reported and removed, and holds up no other', async () => {
    const { engine, faults, server } = await connectedAlone();
    const admin = adminOf(server);
    for (const payload of malformedPayloads()) await admin.xadd(STREAM, '*', 'batch', payload);
    await append(engine, 'a');
    const taken = await engine.takeCheckIns('taker', 5, 5000, NEVER_MS);
    expect(devicesIn(taken)).toEqual(['a']);
    expect(faults.map(({ message }) => message)).toEqual(
      malformedPayloads().map(() =>
        expect.stringMatching(/^dropped a malformed batch \(0\/\d+-\d+\)$/),
      ),
    );
    expect(await engine.countCheckIns()).toBe(1);
    await engine.acknowledgeCheckIns(idsOf(taken));
    expect(await admin.xpending(STREAM, 'drain')).toEqual([0, null, null, null]);
  });

  it('a batch of a version that knew neither networks nor clients is taken, with unknown ones', async () => {
    const { engine, faults, server } = await connectedAlone();
    const told = { client: 'tauri', bundle: 'deb' } as const;
    const checkIn = checkInOf('a', { network: '203.0.113.7', ...told });
    const pack = packCheckIns([checkIn]);
    const { rows, contexts, versions } = pack;
    const kinds = JSON.stringify([
      contexts.map(({ value }) => [
        ...[value.appId, value.channel, value.platform, value.arch, value.source, null],
      ]),
      versions.map(({ value }) => value),
    ]);
    const row = Buffer.from(rows.buffer, rows.byteOffset, rows.byteLength);
    const older = payloadOf({ kinds, labels: '[]', count: 1, rows: row });
    await adminOf(server).xadd(STREAM, '*', 'batch', older);
    await engine.appendCheckIns(pack);
    const taken = await engine.takeCheckIns('taker', 5, 5000, NEVER_MS);
    expect(taken.flatMap(({ checkIns }) => checkIns)).toEqual([
      { ...checkIn, network: undefined, client: undefined, bundle: undefined },
      checkIn,
    ]);
    expect(faults).toEqual([]);
  });

  it.each([
    ['overwrote', (admin: Redis) => admin.set(STREAM, 'x')],
    ['removed', (admin: Redis) => admin.del(STREAM)],
  ])(
    'a stream that another program %s is counted: the check-ins that were not recorded',
    async (_, destroy) => {
      const { engine, lost, server } = await connectedAlone();
      const admin = adminOf(server);
      await append(engine, 'recorded');
      const taken = await engine.takeCheckIns('taker', 1, 0, NEVER_MS);
      await engine.appendCheckIns(packCheckIns([checkInOf('lost'), checkInOf('lost-as-well')]));
      await append(engine, 'lost-too');
      await engine.acknowledgeCheckIns(idsOf(taken));
      await destroy(admin);
      // A look in between does not hide it.
      expect(await engine.takeCheckIns('taker', 5, 0, NEVER_MS)).toEqual([]);
      expect(await engine.countCheckIns()).toBe(0);
      expect(await engine.appendCheckIns(packCheckIns([checkInOf('a'), checkInOf('b')]))).toBe(
        'accepted',
      );
      expect(lost).toEqual([3]);
      // Nothing is lost that is taken out of the stream, and nothing is counted twice.
      const rest = await engine.takeCheckIns('taker', 5, 0, NEVER_MS);
      expect(devicesIn(rest)).toEqual(['a', 'b']);
      await engine.acknowledgeCheckIns(idsOf(rest));
      await admin.del(STREAM);
      await append(engine, 'c');
      await admin.set(STREAM, 'x');
      await admin.del(keys.checkInCount(0));
      await admin.rpush(keys.checkInCount(0), 'of another type');
      await append(engine, 'd');
      expect(lost).toEqual([3]);
    },
  );
});

describe.skipIf(!hasCluster)('when a Redis Cluster fails', () => {
  it('without the node of the queue, those who wait are refused; when it is back, the queue works on', async () => {
    const cluster = await startRedisCluster();
    leftovers.push(() => cluster.stop());
    const { engine } = await connected(cluster.url);
    await append(engine, 'a');
    const counts = await Promise.all(cluster.nodes.map((node) => adminOf(node).dbsize()));
    const holder = cluster.nodes[counts.findIndex((count) => count > 0)] as RedisServer;
    await engine.acknowledgeCheckIns(idsOf(await engine.takeCheckIns('taker', 1, 0, NEVER_MS)));
    const { refused } = await beginWaiting(engine, holder);
    await holder.kill();
    await refused;
    await holder.restart();
    await eventually('a batch is accepted', () =>
      append(engine, 'b').then(
        (outcome) => outcome === 'accepted',
        () => false,
      ),
    );
    const taken = await engine.takeCheckIns('taker', 50, 2000, NEVER_MS);
    expect(new Set(devicesIn(taken))).toEqual(new Set(['b']));
  });
});

/** Returns payloads that are malformed, in each way in which a packed one can be damaged. */
function malformedPayloads(): (string | Buffer)[] {
  const context: readonly unknown[] = ['app_1', 'stable', 'linux', '', 'pull', null];
  const { rows } = packCheckIns([checkInOf('device')]);
  const row = Buffer.from(rows.buffer, rows.byteOffset, rows.byteLength);
  const [kinds, labels] = [JSON.stringify([[context], ['1.0.0']]), '[]'];
  const whole = { kinds, labels, count: 1, rows: row };
  const bytes = payloadOf(whole);
  const brokenKinds = [
    ...[{}, null, [], [[context]], [[], ['1.0.0']], [[context], []], [[context], ['1.0.0', 7]]],
    ...[...context.keys()].map((at) => [[context.with(at, 7)], ['1.0.0']]),
    ...[
      [[context.slice(0, 3)], ['1.0.0']],
      [[context.with(4, 'pulled')], ['1.0.0']],
    ],
    ...[null, 7, 'AAAA'].map((networks) => [[context], ['1.0.0'], networks]),
  ];
  return [
    ...['', '{', 'x'.repeat(12), '[1790000000000,[],[],[]]'],
    ...[1, 11, 12, 20, bytes.length - 1].map((length) => bytes.subarray(0, length)),
    Buffer.concat([bytes, Buffer.from(' ')]),
    ...[0, 2, 0xffffffff].map((count) => payloadOf({ ...whole, count })),
    ...[row.subarray(4), row.subarray(1), Buffer.alloc(0)].map((broken) =>
      payloadOf({ ...whole, rows: broken }),
    ),
    ...brokenKinds.map((broken) => payloadOf({ ...whole, kinds: JSON.stringify(broken) })),
    ...['', '{}', 'null', '[0,{}]', '["0",[]]', '[0,[["key"]]]', '[0,[["key",7]]]'].map((broken) =>
      payloadOf({ ...whole, labels: broken }),
    ),
  ];
}

type Parts = { kinds: string; labels: string; count: number; rows: Buffer };

function payloadOf({ kinds, labels, count, rows }: Parts): Buffer {
  const head = Buffer.alloc(12);
  head.writeUInt32LE(Buffer.byteLength(kinds), 0);
  head.writeUInt32LE(Buffer.byteLength(labels), 4);
  head.writeUInt32LE(count, 8);
  return Buffer.concat([head, rows, Buffer.from(kinds), Buffer.from(labels)]);
}
