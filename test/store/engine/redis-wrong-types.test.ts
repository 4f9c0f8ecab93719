// Tests that a key which another program has made a value of another type is taken away: the call that
// finds it works, and so does every later one.

import { describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/store/engine.ts';
import { packCheckIns } from '../../support/pack-check-ins.ts';
import { keys, queueLength, streamKeys } from '../../support/redis-keys.ts';
import { findRedis } from '../../support/redis-server.ts';
import { snapshotOf } from './engine-contract.ts';
import { checkInOf, NOTHING_HELD, storedLabelsOf } from './fleet-sample.ts';
import { adminOf, connected, redisOf } from './redis-fixture.ts';

const hasRedis = findRedis() !== undefined;
if (!hasRedis) console.log('Skipped: keys of another type in Redis (no redis-server in PATH)');

const DEVICE = { appId: 'app_1', deviceId: 'device' };
const NOTE = { ...DEVICE, at: 1, labels: new Map([['ring', 'early']]) };
const DEBT = { device: 'device', process: 'process', requestId: '1', owed: [] };
const BATCH = packCheckIns([checkInOf('device')]);
const NAMES = { tag: 'tag', isComplete: true, channels: [] };
const POSITION = { epoch: 0, position: 7 };

/** Every call that meets a key: the key, the call, and what it must answer, where that is known. */
const CALLS: readonly (readonly [
  string,
  string,
  (engine: Engine) => Promise<unknown>,
  unknown?,
])[] = [
  [
    'putSnapshot',
    keys.snapshot('app', 'stable'),
    (e) => e.putSnapshot(snapshotOf('app', 'stable', 1)),
  ],
  ['getSnapshot', keys.snapshot('app', 'stable'), (e) => e.getSnapshot('app', 'stable')],
  ['getSnapshotHead', keys.snapshot('app', 'stable'), (e) => e.getSnapshotHead('app', 'stable')],
  ['putChannelNames', keys.channelNames, (e) => e.putChannelNames(NAMES)],
  ['getChannelNames', keys.channelNames, (e) => e.getChannelNames(undefined)],
  [
    'countRequest',
    keys.rate('key'),
    async (e) => (await e.countRequest('key', 5, 1000)).remaining,
    4,
  ],
  [
    'settleDevices',
    keys.deviceRate('device'),
    (e) => e.settleDevices([{ ...DEBT, device: 'other' }, DEBT]),
    [0, 1].map(() => ({ isAllowed: true, waitMs: 0 })),
  ],
  [
    'getLabels',
    keys.labels(DEVICE),
    (e) => e.getLabels([{ ...DEVICE, deviceId: 'other' }, DEVICE]),
    [NOTHING_HELD, NOTHING_HELD],
  ],
  ['putLabels', keys.labels(DEVICE), (e) => e.putLabels([storedLabelsOf('device', 1)])],
  ['noteLabels', keys.labels(DEVICE), (e) => e.noteLabels([NOTE])],
  ['readLabelPosition', keys.labelPosition, (e) => e.readLabelPosition()],
  [
    'moveLabelPosition',
    keys.labelPosition,
    (e) => e.moveLabelPosition(undefined, POSITION, true),
    true,
  ],
  ['shareCheckIns', keys.takers, (e) => e.shareCheckIns('taker'), ['taker']],
  ['leaveCheckIns', keys.takers, (e) => e.leaveCheckIns('taker')],
  ['appendCheckIns', keys.checkIns(3), (e) => e.appendCheckIns(BATCH, 3), 'accepted'],
  ['takeCheckIns', keys.checkIns(3), (e) => e.takeCheckIns('taker', 1, 0, 1000), []],
  ['acknowledgeCheckIns', keys.checkIns(3), (e) => e.acknowledgeCheckIns(['3/1-1'])],
  ['countCheckIns', keys.checkIns(3), (e) => e.countCheckIns(), 0],
  ['weighCheckIns', keys.checkIns(3), (e) => e.weighCheckIns(), 0],
];

describe.skipIf(!hasRedis)('a key of another type', () => {
  it('is taken away, told, and what was asked for is done, whatever finds it', async () => {
    const server = await redisOf();
    const { engine, removed } = await connected(server.url);
    const admin = adminOf(server);
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
  });

  it('does not keep check-ins of any stream from being recorded', async () => {
    const server = await redisOf();
    const { engine, removed } = await connected(server.url);
    const admin = adminOf(server);
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
