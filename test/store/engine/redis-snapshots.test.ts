// Tests how snapshots lie in Redis: a change sends and reads what changed, lost releases are sent again, and
// those that no snapshot names do not stay.

import type { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import type { ServingSnapshot } from '../../../src/domain/decision/serving-snapshot.ts';
import { keys } from '../../support/redis-keys.ts';
import { findRedis } from '../../support/redis-server.ts';
import { editionOf, snapshotOf } from './engine-contract.ts';
import { adminOf, connected, redisOf } from './redis-fixture.ts';

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

describe.skipIf(findRedis() === undefined)('snapshots in Redis', () => {
  it('a change on a channel of 2,000 releases with 10 KiB notes sends and reads less than 256 KiB', async () => {
    const server = await redisOf();
    const admin = adminOf(server);
    const [{ engine }, { engine: second }] = [
      await connected(server.url),
      await connected(server.url),
    ];
    const before = channelOf(1, editions(2000));
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
    expect(same).toHaveLength(1999);
    const [input, output] = [sent.in - start.in, received.out - sent.out];
    console.info(`a change of 1 of 2,000 releases: ${input} bytes sent, ${output} bytes read`);
    expect(input).toBeLessThan(256 * 1024);
    expect(output).toBeLessThan(256 * 1024);
  });

  it('emptied, it is filled again by the next snapshot, although the node thinks it has all', async () => {
    const server = await redisOf();
    const admin = adminOf(server);
    const { engine } = await connected(server.url);
    const before = channelOf(1, editions(300));
    await engine.putSnapshot(before);
    await admin.flushall();
    const after = { ...before, revision: 2, releases: [...before.releases, editionOf('new')] };
    expect(await engine.putSnapshot(after)).toBeUndefined();
    expect(await engine.getSnapshot('app', 'stable')).toEqual(after);
  });

  it('a snapshot that lacks a release is none; the next one brings it back', async () => {
    const server = await redisOf();
    const admin = adminOf(server);
    const { engine, faults } = await connected(server.url);
    const before = channelOf(1, editions(3));
    await engine.putSnapshot(before);
    await admin.hdel(KEY, `release:${editions(3)[1]}`);
    expect(await engine.getSnapshot('app', 'stable')).toBeUndefined();
    await engine.putSnapshot({ ...before, revision: 2 });
    expect(await engine.getSnapshot('app', 'stable')).toEqual({ ...before, revision: 2 });
    expect(faults).toEqual([]);
  });

  it('releases that no snapshot names go once they are as many as the others', async () => {
    const server = await redisOf();
    const admin = adminOf(server);
    const { engine } = await connected(server.url);
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
    const server = await redisOf();
    const admin = adminOf(server);
    const { engine, faults } = await connected(server.url);
    await engine.putSnapshot(channelOf(1, editions(1)));
    await admin.hset(KEY, field, value);
    expect(await engine.getSnapshot('app', 'stable')).toBeUndefined();
    expect(faults.map(({ message }) => message)).toEqual(['ignored a malformed snapshot']);
  });
});
