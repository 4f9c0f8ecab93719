// Tests what lies in Redis: snapshots, of which a change sends and reads what changed; keys that another
// program has made a value of another type, which are taken away; and the names by which deployments do not
// meet.

import type { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ServingSnapshot } from '../../../src/domain/decision/serving-snapshot.ts';
import type { Engine } from '../../../src/store/engine.ts';
import { createRedisEngine } from '../../../src/store/redis/redis-engine.ts';
import { eventually } from '../../support/eventually.ts';
import { packCheckIns } from '../../support/pack-check-ins.ts';
import { keys, queueLength, streamKeys } from '../../support/redis-keys.ts';
import { findRedis, type RedisServer, startRedis } from '../../support/redis-server.ts';
import { announcementOf, editionOf, listenTo, snapshotOf } from './engine-contract.ts';
import { ANSWER_MS_MAX } from './engines-under-test.ts';
import { checkInOf, NOTHING_HELD, storedLabelsOf } from './fleet-sample.ts';
import { adminOf, connected, leftovers } from './redis-fixture.ts';

const hasRedis = findRedis() !== undefined;
if (!hasRedis) console.log('Skipped: what lies in Redis (no redis-server in PATH)');

let server: RedisServer;
beforeAll(async () => {
  if (hasRedis) server = await startRedis();
});
afterAll(() => server?.stop());

/** An engine on the emptied server, what it reports, and a plain client. */
async function emptied() {
  const admin = adminOf(server);
  await admin.flushall();
  return { admin, ...(await connected(server.url)) };
}

const KEY = keys.snapshot('app', 'stable');
const NOTES = 'n'.repeat(10 * 1024);

function channelOf(revision: number, editions: readonly string[]): ServingSnapshot {
  const releases = editions.map((edition) => ({ ...editionOf(edition), notes: edition + NOTES }));
  return { ...snapshotOf('app', 'stable', 1), revision, releases };
}

function editions(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `edition-${index}-${'x'.repeat(12)}`);
}

async function trafficOf(admin: Redis): Promise<{ readonly in: number; readonly out: number }> {
  const stats = await admin.info('stats');
  const total = (name: string) => Number(new RegExp(`${name}:(\\d+)`).exec(stats)?.[1]);
  return { in: total('total_net_input_bytes'), out: total('total_net_output_bytes') };
}

describe.skipIf(!hasRedis)('snapshots in Redis', () => {
  it('a change on a channel of 1,000 releases with 10 KiB notes sends and reads less than 256 KiB', async () => {
    const { admin, engine } = await emptied();
    const { engine: second } = await connected(server.url);
    const before = channelOf(1, editions(1000));
    await engine.putSnapshot(before);
    const known = await second.getSnapshot('app', 'stable');
    const after = { ...before, revision: 2, releases: before.releases.with(7, editionOf('new')) };
    const start = await trafficOf(admin);
    await engine.putSnapshot(after);
    const sent = await trafficOf(admin);
    const read = await second.getSnapshot('app', 'stable', known);
    const received = await trafficOf(admin);
    expect(read).toEqual(after);
    const same = read?.releases.filter((release) => known?.releases.includes(release));
    expect(same).toHaveLength(999);
    const [input, output] = [sent.in - start.in, received.out - sent.out];
    expect(input).toBeLessThan(256 * 1024);
    expect(output).toBeLessThan(256 * 1024);
  });

  it.each([
    ['all', (admin: Redis) => admin.flushall()],
    ['a release', (admin: Redis) => admin.hdel(KEY, `release:${editions(2)[1]}`)],
  ])('a snapshot that lost %s is none; the next one fills it again', async (_, lose) => {
    const { admin, engine, faults } = await emptied();
    const before = channelOf(1, editions(300));
    await engine.putSnapshot(before);
    await lose(admin);
    expect(await engine.getSnapshot('app', 'stable')).toBeUndefined();
    const after = { ...before, revision: 2, releases: [...before.releases, editionOf('new')] };
    expect(await engine.putSnapshot(after)).toBeUndefined();
    expect(await engine.getSnapshot('app', 'stable')).toEqual(after);
    expect(faults).toEqual([]);
  });

  it('releases that no snapshot names go once they are as many as the others', async () => {
    const { admin, engine } = await emptied();
    let fieldsMax = 0;
    for (let revision = 1; revision <= 30; revision++) {
      const own = Array.from({ length: 10 }, (_, index) => `e-${revision}-${index}`);
      await engine.putSnapshot(channelOf(revision, own));
      fieldsMax = Math.max(fieldsMax, await admin.hlen(KEY));
    }
    expect(fieldsMax).toBeLessThanOrEqual(2 * 10 + 64 + 5);
    expect((await engine.getSnapshot('app', 'stable'))?.releases).toHaveLength(10);
  });

  it.each([
    ['an index of another shape', 'index', '{}\n'],
    ['a release of another shape', `release:${editions(1)[0]}`, '{}'],
    ['a release of another edition', `release:${editions(1)[0]}`, JSON.stringify(editionOf('b'))],
  ])('%s is reported, and the snapshot counts as none', async (_what, field, value) => {
    const { admin, engine, faults } = await emptied();
    await engine.putSnapshot(channelOf(1, editions(1)));
    await admin.hset(KEY, field, value);
    expect(await engine.getSnapshot('app', 'stable')).toBeUndefined();
    expect(faults.map(({ message }) => message)).toEqual(['ignored a malformed snapshot']);
  });
});

const DEVICE = { appId: 'app_1', deviceId: 'device' };
const NOTE = { ...DEVICE, at: 1, labels: new Map([['ring', 'early']]) };
const ACTIONS = { ...DEVICE, revision: 1, text: '[]' };
const CHANGED = { expected: 0, unstoredSince: 5 };
const DEBT = { device: 'device', process: 'process', requestId: '1', owed: [] };
const BATCH = packCheckIns([checkInOf('device')]);
const NAMES = { tag: 'tag', isComplete: true, channels: [] };
const POSITION = { epoch: 0, position: 7 };

const OTHER = { ...DEVICE, deviceId: 'other' };
const ALLOWED = { isAllowed: true, waitMs: 0 };
const [SNAPSHOT, RATE] = [keys.snapshot('app', 'stable'), keys.rate('key')];
const [HASH, DEBTS, STREAM] = [keys.device(DEVICE), keys.deviceRate('device'), keys.checkIns(3)];

/** Every call that meets a key: its name, the key, the call, and what it must answer, where that is known. */
const CALLS: readonly [string, string, (engine: Engine) => Promise<unknown>, unknown?][] = [
  ['putSnapshot', SNAPSHOT, (e) => e.putSnapshot(snapshotOf('app', 'stable', 1))],
  ['getSnapshot', SNAPSHOT, (e) => e.getSnapshot('app', 'stable')],
  ['getSnapshotHead', SNAPSHOT, (e) => e.getSnapshotHead('app', 'stable')],
  ['putChannelNames', keys.channelNames, (e) => e.putChannelNames(NAMES)],
  ['getChannelNames', keys.channelNames, (e) => e.getChannelNames(undefined)],
  ['countRequest', RATE, async (e) => (await e.countRequest('key', 5, 1000)).remaining, 4],
  [
    ...(['settleDevices', DEBTS] as const),
    (e) => e.settleDevices([{ ...DEBT, device: 'other' }, DEBT]),
    [ALLOWED, ALLOWED],
  ],
  ['getLabels', HASH, (e) => e.getLabels([OTHER, DEVICE]), [NOTHING_HELD, NOTHING_HELD]],
  ['putLabels', HASH, (e) => e.putLabels([storedLabelsOf('device', 1)])],
  ['noteLabels', HASH, (e) => e.noteLabels([NOTE])],
  ['dropLabels', HASH, (e) => e.dropLabels([DEVICE])],
  ['getActions', HASH, (e) => e.getActions([OTHER, DEVICE]), [undefined, undefined]],
  ['putActions', HASH, (e) => e.putActions([ACTIONS])],
  ['changeActions', HASH, (e) => e.changeActions([{ ...ACTIONS, ...CHANGED }]), [true]],
  ['noteStored', HASH, (e) => e.noteStored([ACTIONS])],
  ['dropActions', HASH, (e) => e.dropActions([DEVICE])],
  ['readLabelPosition', keys.labelPosition, (e) => e.readLabelPosition()],
  ['move', keys.labelPosition, (e) => e.moveLabelPosition(undefined, POSITION, true), true],
  ['readActionPosition', keys.actionPosition, (e) => e.readActionPosition()],
  ['moveActions', keys.actionPosition, (e) => e.moveActionPosition(undefined, POSITION), true],
  ['shareCheckIns', keys.takers, (e) => e.shareCheckIns('taker'), ['taker']],
  ['leaveCheckIns', keys.takers, (e) => e.leaveCheckIns('taker')],
  ['appendCheckIns', STREAM, (e) => e.appendCheckIns(BATCH, 3), 'accepted'],
  ['takeCheckIns', STREAM, (e) => e.takeCheckIns('taker', 1, 0, 1000), []],
  ['acknowledgeCheckIns', STREAM, (e) => e.acknowledgeCheckIns(['3/1-1'])],
  ['countCheckIns', STREAM, (e) => e.countCheckIns(), 0],
  ['weighCheckIns', STREAM, (e) => e.weighCheckIns(), 0],
];

describe.skipIf(!hasRedis)('a key of another type', () => {
  it('is taken away, told, and what was asked for is done, whatever finds it', async () => {
    const { admin, engine, removed } = await emptied();
    for (const [name, key, call, answer] of CALLS) {
      await admin.flushall();
      const wrong = 'string';
      await admin.set(key, 'x');
      expect([name, await call(engine)]).toEqual([name, answer]);
      expect([name, await admin.type(key)]).not.toEqual([name, wrong]);
      expect([name, removed.splice(0)]).toEqual([
        name,
        [{ key, found: wrong, wanted: expect.any(String) }],
      ]);
    }

    // Check-ins of any stream are recorded all the same.
    await admin.flushall();
    await Promise.all([...streamKeys, keys.takers].map((key) => admin.set(key, 'x')));
    for (const stream of streamKeys.keys()) {
      expect(await engine.appendCheckIns(BATCH, stream)).toBe('accepted');
    }
    expect(await engine.shareCheckIns('taker')).toEqual(['taker']);
    const taken = await engine.takeCheckIns('taker', 100, 0, 1000);
    expect(taken).toHaveLength(streamKeys.length);
    await engine.acknowledgeCheckIns(taken.map(({ id }) => id));
    expect(await queueLength(admin)).toBe(0);
    expect(removed).toHaveLength(streamKeys.length + 1);
  });
});

const NEVER_MS = 600_000;
/** Pub/sub channel of no engine. */
const LAST = 'last';

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
async function listenToAll(): Promise<Set<string>> {
  const heard = new Set<string>();
  const redis = adminOf(server);
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
  // What was published before comes before this.
  await adminOf(server).publish(LAST, '');
  await eventually('all of before is heard', () => published.has(LAST));
  published.clear();
  await engine.announce(announcementOf('app', revision));
  await engine.shareActivity([]);
  await engine.tellLabels([]);
  await eventually('all is published', () => published.size === 3);
  return [...published];
}

describe.skipIf(!hasRedis)('deployments that share a Redis', () => {
  it('on databases of their own hear nothing of each other (Environment)', async () => {
    const opening = ['/0', '/3'].map((path) => deployment(server.url + path, 'sluice'));
    const [one, other] = (await Promise.all(opening)) as [Engine, Engine];
    const published = await listenToAll();
    const heard = await Promise.all([one, other].map((engine) => listenTo(engine, 'app')));
    const own = await publishAll(one, published, 2);
    const foreign = await publishAll(other, published, 7);
    expect(own.filter((channel) => foreign.includes(channel))).toEqual([]);
    await eventually('each heard its own', () =>
      heard.every(({ revisions }) => revisions.length > 0),
    );
    expect(heard.map(({ revisions }) => revisions)).toEqual([[2], [7]]);
  });

  it('everything is named below the prefix, and sluice has the names that it always had', async () => {
    const published = await listenToAll();
    const names = new Map<string, string[]>();
    const admin = adminOf(server);
    for (const prefix of ['sluice', 'blue']) {
      await admin.flushall();
      const engine = await deployment(server.url, prefix);
      await engine.putSnapshot(snapshotOf('app', 'stable', 2));
      await engine.putChannelNames({ tag: '1', channels: [], isComplete: true });
      await engine.appendCheckIns(packCheckIns([checkInOf('a')]));
      await engine.putLabels([storedLabelsOf('device', 1)]);
      await engine.putActions([{ appId: 'app_1', deviceId: 'd', revision: 1, text: '[]' }]);
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
    // So two prefixes on one database meet nowhere.
    expect(below('blue')).toEqual(below('sluice'));
    expect(below('blue')).toEqual(
      expect.arrayContaining([
        ':announcements',
        ':check-ins:4',
        ':device-labels:{app_1/d}',
        ':snapshot:4:{app:stable}',
      ]),
    );
  });
});
