// Tests last known snapshots where several serving processes keep them in one data directory: the newest of
// all counts, and the list has what any of them kept.

import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { DiskSnapshotFiles } from '../../../src/store/disk/disk-snapshot-files.ts';
import { channelAt } from '../../serving/serving-node.ts';
import { dataDirectory, removeDirectories } from './data-directory.ts';

const COUNT_MAX = 100;

afterEach(removeDirectories);

describe('several serving processes on one data directory', () => {
  it('an older snapshot that one writes later does not replace the newer one of another', async () => {
    const { open, faults } = dataDirectory();
    const [first, second] = [open(1), open(2)];
    first.keep(channelAt(8));
    await first.flush();
    second.keep(channelAt(7));
    await second.flush();
    for (const reader of [open(1), open(2), open(3), open()]) {
      expect((await reader.find('acme', 'stable'))?.revision).toBe(8);
      expect(await reader.hasAny()).toBe(true);
    }
    expect(faults).toEqual([]);
  });

  it('what one process kept alone is found by many, and the other way round', async () => {
    const { open } = dataDirectory();
    const alone = open();
    alone.keep(channelAt(3));
    await alone.flush();
    expect((await open(2).find('acme', 'stable'))?.revision).toBe(3);
    const worker = open(2);
    worker.keep(channelAt(4));
    await worker.flush();
    expect((await open().find('acme', 'stable'))?.revision).toBe(4);
  });

  it('a file of one that cannot be read hides that of another', async () => {
    const { open, faults, snapshots } = dataDirectory();
    const [first, second] = [open(1), open(2)];
    for (const worker of [first, second]) {
      worker.keep(channelAt(5));
      await worker.flush();
    }
    const [name = ''] = readdirSync(join(snapshots, 'worker-1'));
    writeFileSync(join(snapshots, 'worker-1', name), '{');
    expect((await open(1).find('acme', 'stable'))?.revision).toBe(5);
    expect(faults).toHaveLength(1);
  });

  async function namesIn(files: DiskSnapshotFiles, countMax = COUNT_MAX): Promise<string[]> {
    return (await files.list(countMax)).map(({ channel }) => channel).sort();
  }

  it('the list has every channel that a process of the node kept, once, with all its names', async () => {
    const { open } = dataDirectory();
    const [alone, worker] = [open(), open(3)];
    for (const name of ['alpha', 'both']) alone.keep(channelAt(1, name));
    for (const name of ['both', 'gamma']) worker.keep(channelAt(2, name));
    await Promise.all([alone.flush(), worker.flush()]);
    expect(await namesIn(open())).toEqual(['alpha', 'both', 'gamma']);
    const [first] = await open().list(1);
    expect(first).toEqual({
      appId: 'app_1',
      appRef: 'acme',
      channelId: `chn_${first?.channel}`,
      channel: first?.channel,
    });
  });

  it('the list leaves out what is damaged, and says so once', async () => {
    const { open, snapshots, faults } = dataDirectory();
    const files = open();
    files.keep(channelAt(1, 'whole'));
    await files.flush();
    writeFileSync(join(snapshots, `${'0'.repeat(40)}.json`), '{"format":');
    const next = open();
    expect(await namesIn(next)).toEqual(['whole']);
    expect(await namesIn(next)).toEqual(['whole']);
    expect(faults).toHaveLength(1);
  });

  it('the list has what appears later, no more than asked for, and nothing where nothing was kept', async () => {
    const { open, snapshots } = dataDirectory();
    const [reader, writer] = [open(), open(1)];
    expect(await namesIn(reader)).toEqual([]);
    for (const name of ['a', 'b', 'c']) writer.keep(channelAt(1, name));
    await writer.flush();
    expect(readdirSync(snapshots)).toEqual(['worker-1']);
    expect(await namesIn(reader)).toEqual(['a', 'b', 'c']);
    expect(await namesIn(reader, 2)).toHaveLength(2);
  });
});
