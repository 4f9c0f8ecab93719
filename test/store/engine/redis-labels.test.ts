// Tests how labels are stored in Redis. The rules of every engine: label-contract.

import { describe, expect, it } from 'vitest';
import { LABEL_NOTE_LIFETIME_MS } from '../../../src/store/label-store.ts';
import { keys } from '../../support/redis-keys.ts';
import { findRedis } from '../../support/redis-server.ts';
import { confirmed, NOTHING_HELD, notedIn, storedLabelsOf, unconfirmed } from './fleet-sample.ts';
import { adminOf, connected, redisOf } from './redis-fixture.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;

const hasRedis = findRedis() !== undefined;
if (!hasRedis) console.log('Skipped: labels in Redis (no redis-server in PATH)');

describe.skipIf(!hasRedis)('labels in Redis', () => {
  it('live for a week after their last use', async () => {
    const server = await redisOf();
    const { engine } = await connected(server.url);
    const entries = Array.from({ length: 3 }, (_, index) => storedLabelsOf(`${index}`, 1));
    await engine.putLabels(entries);
    const admin = adminOf(server);
    const [put, used, unused] = entries.map(keys.device) as [string, string, string];
    for (const key of [put, used, unused]) {
      expect(await admin.pttl(key)).toBeGreaterThan(WEEK_MS - HOUR_MS);
      await admin.pexpire(key, DAY_MS);
    }
    await engine.getLabels(entries.slice(1, 2));
    await engine.putLabels(entries.slice(0, 1));
    expect(await admin.pttl(put)).toBeGreaterThan(WEEK_MS - HOUR_MS);
    expect(await admin.pttl(used)).toBeGreaterThan(WEEK_MS - 2 * HOUR_MS);
    expect(await admin.pttl(unused)).toBeLessThanOrEqual(DAY_MS);
  });

  it('that are noted live for a quarter of an hour, and shorten no other life', async () => {
    const server = await redisOf();
    const { engine } = await connected(server.url);
    const device = storedLabelsOf('noted', 1);
    const note = { ...device, at: 1, labels: new Map([['ring', 'early']]) };
    const admin = adminOf(server);
    await engine.noteLabels([note]);
    expect(await admin.pttl(keys.device(device))).toBeGreaterThan(LABEL_NOTE_LIFETIME_MS - 5000);
    expect(await admin.pttl(keys.device(device))).toBeLessThanOrEqual(LABEL_NOTE_LIFETIME_MS);
    await engine.putLabels([device]);
    await engine.noteLabels([note]);
    expect(await admin.pttl(keys.device(device))).toBeGreaterThan(WEEK_MS - HOUR_MS);
    expect(await notedIn(engine, device)).toEqual(note.labels);
    const [ended] = String(await admin.hget(keys.device(device), 'ring')).match(/ \d+ /) ?? [];
    await admin.hset(
      keys.device(device),
      'ring',
      `1 ${Number(ended) - LABEL_NOTE_LIFETIME_MS} early`,
    );
    expect(await engine.getLabels([device])).toEqual(confirmed(device));
  });

  it('are confirmed for about an hour, those of one call not all for the same time', async () => {
    const server = await redisOf();
    const { engine } = await connected(server.url);
    const entries = Array.from({ length: 50 }, (_, index) => storedLabelsOf(`${index}`, 1));
    await engine.putLabels(entries);
    const admin = adminOf(server);
    const confirmedAt = async (ageMs: number): Promise<number> => {
      for (const entry of entries) await admin.pexpire(keys.device(entry), WEEK_MS - ageMs);
      const read = await engine.getLabels(entries);
      return read.filter((entry) => entry?.isConfirmed).length;
    };
    expect(await confirmedAt(HOUR_MS * 0.8)).toBe(50);
    const some = await confirmedAt(HOUR_MS * 0.92);
    expect(some).toBeGreaterThan(0);
    expect(some).toBeLessThan(50);
    expect(await confirmedAt(HOUR_MS)).toBe(0);
    // Use keeps them, and confirms nothing.
    expect(await confirmedAt(WEEK_MS - 1000)).toBe(0);
    expect(await engine.getLabels(entries)).toEqual(unconfirmed(...entries));
    await engine.putLabels(entries.map((entry) => ({ ...entry, revision: 0 })));
    expect((await engine.getLabels(entries)).every((entry) => entry?.isConfirmed)).toBe(true);
  });

  it('malformed, they count as absent and are reported, and the next writer puts them right', async () => {
    const server = await redisOf();
    const { engine, faults } = await connected(server.url);
    const admin = adminOf(server);
    const entry = storedLabelsOf('device', 1);
    const payloads = [
      ...['', '7', '7 ', '7 {', '7 {}', '[]', '7 [["a"]]', '7 [["a",1,1]]', '7 [["a","b"]]'],
      ...['x [["a","b",1]]', '7;a', '7;a\0b', '7;a\0b\0', '7;a\0b\0-1', '7;a\0b\x001\0c'],
      // A part of 63 bytes that lacks the next one.
      `7;a\0${'b'.repeat(57)}\x001`,
    ];
    for (const payload of payloads) {
      await admin.hset(keys.device(entry), '', payload);
      expect(await engine.getLabels([entry])).toEqual([NOTHING_HELD]);
    }
    expect(faults.map(({ message }) => message)).toEqual(
      payloads.map(() => 'ignored malformed labels'),
    );
    await engine.putLabels([entry]);
    expect(await engine.getLabels([entry])).toEqual(confirmed(entry));
  });
});
