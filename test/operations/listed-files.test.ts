// Tests the list of channels that lie on a node's disk: what can be read counts, whichever process wrote it,
// and what appears later is found.

import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { LastGoodFiles } from '../../src/engine/disk/last-good-files.ts';
import { channelAt } from './serving-node.ts';

const COUNT_MAX = 100;

const leftovers: string[] = [];
afterEach(() => {
  for (const directory of leftovers.splice(0)) rmSync(directory, { recursive: true, force: true });
});

/** Opens the files of processes on one data directory. */
function dataDirectory() {
  const path = mkdtempSync(join(tmpdir(), 'sluice-listed-'));
  leftovers.push(path);
  const faults: unknown[] = [];
  const open = (worker?: number) => new LastGoodFiles(path, worker, (fault) => faults.push(fault));
  return { open, faults, snapshots: join(path, 'snapshots') };
}

async function namesIn(files: LastGoodFiles, countMax = COUNT_MAX): Promise<string[]> {
  return (await files.list(countMax)).map(({ channel }) => channel).sort();
}

it('has every channel that a process of the node kept, once, with all its names', async () => {
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

it('leaves out what is damaged, and says so once', async () => {
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

it('has what appears later, no more than asked for, and nothing where nothing was kept', async () => {
  const { open, snapshots } = dataDirectory();
  const [reader, writer] = [open(), open(1)];
  expect(await namesIn(reader)).toEqual([]);
  for (const name of ['a', 'b', 'c']) writer.keep(channelAt(1, name));
  await writer.flush();
  expect(readdirSync(snapshots)).toEqual(['worker-1']);
  expect(await namesIn(reader)).toEqual(['a', 'b', 'c']);
  expect(await namesIn(reader, 2)).toHaveLength(2);
});
