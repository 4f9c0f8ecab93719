// Tests the hash of a device in Redis, which has its labels, notes of them, and its actions
// (device-hash.lua): what it takes, that the kinds leave each other alone, and what nodes of 0.3.0 and this
// version read of each other. The rules of every engine: label-contract and action-contract.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/store/engine.ts';
import { createRedisEngine } from '../../../src/store/redis/redis-engine.ts';
import { eventually } from '../../support/eventually.ts';
import { keys, notedIn } from '../../support/redis-keys.ts';
import { findRedis, type RedisServer, startRedis } from '../../support/redis-server.ts';
import { confirmed, NOTHING_HELD, storedLabelsOf, unconfirmed } from './fleet-sample.ts';
import { adminOf } from './redis-fixture.ts';

const T0 = 1_750_000_000_000;
const HOUR_MS = 3_600_000;
const DEVICE = { appId: `app_${'0'.repeat(26)}`, deviceId: '0'.repeat(36) };
const NAME = keys.device(DEVICE);
/** Bytes of Redis for a device with four attributes of 16 characters and one bar. */
const BYTES_MAX = 400;
/** Some lengths of the text, around those at which it has a part more, or is one value again. */
const LENGTHS = [0, 40, 62, 63, 64, 125, 126, 127, 188, 189, 190, 440, 503, 504, 505, 2000];

const hasRedis = findRedis() !== undefined;
if (!hasRedis) console.log('Skipped: devices in Redis (no redis-server in PATH)');

describe.skipIf(!hasRedis)('a device in Redis', () => {
  let server: RedisServer;
  let engine: Engine;
  const faults: unknown[] = [];
  beforeAll(async () => {
    server = await startRedis();
    const onFault = (error: unknown) => faults.push(error);
    engine = createRedisEngine({ url: server.url, prefix: 'sluice', onFault });
    await eventually('the engine is connected', () => engine.isReachable());
  });
  afterAll(async () => {
    await engine?.close();
    await server?.stop();
  });

  async function emptied() {
    const admin = adminOf(server);
    await admin.flushall();
    faults.splice(0);
    return admin;
  }

  const labelled = (labels: ReadonlyMap<string, string>, at = T0, revision = 1) => {
    const times = new Map([...labels.keys()].map((key) => [key, at]));
    return { ...DEVICE, labels, times, revision };
  };
  const actionsOf = (text: string, revision = 1) => ({ ...DEVICE, revision, text });

  it('takes at most 400 bytes with four attributes of 16 characters and one bar', async () => {
    const admin = await emptied();
    const told = Object.entries({ board: 'a', site: 'b', ring: 'c', revision: 'd' });
    await engine.putLabels([labelled(new Map(told.map(([key, each]) => [key, each.repeat(16)])))]);
    const text = '1 17 1 mim4zzny 1.10.0 1  = 12,1.11.0,1,mim4zzwv,1,0';
    const change = { ...actionsOf(text, 17), expected: 0, unstoredSince: T0 };
    expect(await engine.changeActions([change])).toEqual([true]);
    await engine.noteStored([change]);
    expect(await admin.object('ENCODING', NAME)).not.toBe('hashtable');
    expect(await admin.memory('USAGE', NAME, 'SAMPLES', 0)).toBeLessThanOrEqual(BYTES_MAX);
  });

  it('has labels and actions of any length, one after the other, and nothing left of longer ones', async () => {
    const admin = await emptied();
    for (const length of [...LENGTHS, ...LENGTHS.toReversed()]) {
      // Characters of two bytes, which a part may cut.
      const [text, value] = ['ü'.repeat(length / 2), 'x'.repeat(length)];
      await engine.putActions([actionsOf(text)]);
      expect(await engine.getActions([DEVICE])).toMatchObject([{ text, unstoredSince: 0 }]);
      const labels = labelled(new Map([['ring', value]]));
      await engine.putLabels([labels]);
      expect(await engine.getLabels([DEVICE])).toEqual(confirmed(labels));
    }
    expect(await admin.hlen(NAME)).toBe(2);
    expect(faults).toEqual([]);
  });

  it('keeps labels and notes when its actions go, and actions when its labels go', async () => {
    const admin = await emptied();
    const labels = labelled(new Map([['site', 'x'.repeat(100)]]));
    const text = 'y'.repeat(100);
    await engine.putLabels([labels]);
    await engine.noteLabels([{ ...DEVICE, at: T0, labels: new Map([['ring', 'noted']]) }]);
    await engine.putActions([actionsOf(text)]);
    await engine.dropLabels([DEVICE]);
    expect(await engine.getLabels([DEVICE])).toEqual([NOTHING_HELD]);
    expect(await engine.getActions([DEVICE])).toMatchObject([{ text }]);
    await engine.putLabels([labels]);
    await engine.noteLabels([{ ...DEVICE, at: T0, labels: new Map([['ring', 'noted']]) }]);
    await engine.dropActions([DEVICE]);
    expect(await engine.getActions([DEVICE])).toEqual([undefined]);
    expect(await engine.getLabels([DEVICE])).toMatchObject([{ stored: labels, isConfirmed: true }]);
    expect(await notedIn(admin, NAME)).toEqual(['ring']);
    await engine.dropLabels([DEVICE]);
    expect(await admin.exists(NAME)).toBe(0);
  });

  it('has as many notes beside labels and actions in parts as beside none', async () => {
    const admin = await emptied();
    const note = (name: string) => {
      const labels = new Map(Array.from({ length: 16 }, (_, index) => [`${name}${index}`, 'v']));
      return engine.noteLabels([{ ...DEVICE, at: T0, labels }]);
    };
    await engine.putLabels([labelled(new Map([['site', 'x'.repeat(200)]]))]);
    await engine.putActions([actionsOf('y'.repeat(200))]);
    for (const name of ['a', 'b']) await note(name);
    expect(await notedIn(admin, NAME)).toHaveLength(32);
    await note('c');
    expect(await notedIn(admin, NAME)).toHaveLength(16);
    expect(await engine.getActions([DEVICE])).toMatchObject([{ text: 'y'.repeat(200) }]);
  });

  it('confirms no labels by its actions, whose use lets it live on', async () => {
    const admin = await emptied();
    const labels = labelled(new Map([['ring', 'early']]));
    await engine.putLabels([labels]);
    await admin.pexpire(NAME, HOUR_MS);
    await engine.putActions([actionsOf('text')]);
    expect(await admin.pttl(NAME)).toBeGreaterThan(100 * HOUR_MS);
    expect(await engine.getLabels([DEVICE])).toEqual(unconfirmed(labels));
    await engine.putLabels([labels]);
    await engine.changeActions([{ ...actionsOf('other', 2), expected: 1, unstoredSince: T0 }]);
    expect(await engine.getLabels([DEVICE])).toEqual(confirmed(labels));
  });

  it('reports actions that are malformed, or lack a part, and the next writer puts them right', async () => {
    const admin = await emptied();
    for (const held of ['', 'x', `\0\0\0\0\0\x01${'7'.repeat(30)}`, 'x'.repeat(63)]) {
      await admin.hset(NAME, '\0a', held);
      expect(await engine.getActions([DEVICE])).toEqual([undefined]);
      expect(String(faults.splice(0))).toBe('Error: ignored malformed actions of a device');
    }
    await engine.putActions([actionsOf('text')]);
    expect(await engine.getActions([DEVICE])).toMatchObject([{ text: 'text' }]);
  });

  it('has labels that a node of 0.3.0 wrote: they are read, and the higher revision stays', async () => {
    const admin = await emptied();
    for (const length of [1, 37, 38, 39, 300]) {
      const value = 'x'.repeat(length);
      await engine.putLabels([labelled(new Map([['ring', 'y'.repeat(100)]]), T0, 8)]);
      await admin.hset(NAME, '', `9 ${JSON.stringify([['ring', value, T0]])}`);
      const labels = labelled(new Map([['ring', value]]), T0, 9);
      // Behind one of just 63 bytes may be what was a part before: then the ledger is asked.
      const [held] = await engine.getLabels([DEVICE]);
      expect([labels, undefined]).toContainEqual(held?.stored);
      await admin.hdel(NAME, '\x002');
      expect(await engine.getLabels([DEVICE])).toEqual(confirmed(labels));
      await engine.putLabels([labelled(new Map(), T0, 8)]);
      expect(await engine.getLabels([DEVICE])).toEqual(confirmed(labels));
      await engine.dropLabels([DEVICE]);
    }
  });

  it('begins its labels with their revision, by which a node of 0.3.0 orders them', async () => {
    const admin = await emptied();
    await engine.putLabels([storedLabelsOf('device', 12)]);
    const [value] = await admin.hmget(keys.device(storedLabelsOf('device', 12)), '');
    expect(value).toMatch(/^12;/);
  });
});
