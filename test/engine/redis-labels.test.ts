// Tests how labels are stored in Redis. The rules of every engine: label-contract.

import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { keys } from '../../src/engine/redis/keys.ts';
import { findRedis } from '../support/redis-server.ts';
import { HOSTILE_TEXTS, storedLabelsOf } from './fleet-sample.ts';
import { adminOf, connected, redisOf } from './redis-fixture.ts';

const hasRedis = findRedis() !== undefined;
if (!hasRedis) console.log('Skipped: labels in Redis (no redis-server in PATH)');

describe.skipIf(!hasRedis)('labels in Redis', () => {
  it('run out after about an hour, those of one call not all at once, counted from the last telling', async () => {
    const server = await redisOf();
    const { engine } = await connected(server.url);
    const entries = Array.from({ length: 50 }, (_, index) => storedLabelsOf(`${index}`, 1));
    await engine.putLabels(entries);
    const admin = adminOf(server);
    const ttls = await Promise.all(entries.map((entry) => admin.pttl(keys.labels(entry))));
    for (const ttl of ttls) {
      expect(ttl).toBeGreaterThan(2_900_000);
      expect(ttl).toBeLessThanOrEqual(3_600_000);
    }
    expect(Math.max(...ttls) - Math.min(...ttls)).toBeGreaterThan(60_000);
    const [entry = storedLabelsOf('0', 1)] = entries;
    await admin.pexpire(keys.labels(entry), 1000);
    await engine.putLabels([entry]);
    expect(await admin.pttl(keys.labels(entry))).toBeGreaterThan(2_900_000);
  });

  it('malformed, they count as absent and are reported, and the next writer puts them right', async () => {
    const server = await redisOf();
    const { engine, faults } = await connected(server.url);
    const admin = adminOf(server);
    const entry = storedLabelsOf('device', 1);
    const payloads = [
      '',
      '7',
      '7 ',
      '7 {',
      '7 {}',
      '7 [["a"]]',
      '7 [["a",1]]',
      'x [["a","b"]]',
      '[]',
    ];
    for (const payload of payloads) {
      await admin.set(keys.labels(entry), payload);
      expect(await engine.getLabels([entry])).toEqual([undefined]);
    }
    expect(faults.map(({ message }) => message)).toEqual(
      payloads.map(() => 'ignored malformed labels'),
    );
    await engine.putLabels([entry]);
    expect(await engine.getLabels([entry])).toEqual([entry]);
  });

  it('lie under one key for each device, whose slot is decided by the whole name', () => {
    const require = createRequire(import.meta.url);
    const slotOf = require('cluster-key-slot') as (key: string) => number;
    const bytesOf = (key: string) => Buffer.from(key).toString('latin1');
    const names = HOSTILE_TEXTS.map((deviceId) => keys.labels({ appId: 'app_1', deviceId }));
    expect(new Set(names.map(bytesOf)).size).toBe(HOSTILE_TEXTS.length);
    for (const name of names) {
      expect(name).toMatch(/^sluice:labels:\{app_1\/[^{}]*\}$/su);
      expect(slotOf(name)).toBe(slotOf(name.slice('sluice:labels:{'.length, -1)));
    }
  });
});
