// Tests the last known snapshots on disk: the snapshot kept last is found, also after faults of the disk and
// by several processes on one directory, and any file that is no whole snapshot counts as absent.

import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { sealFile } from '../../../src/store/disk/channel-files.ts';
import { type DiskFault, DiskSnapshotFiles } from '../../../src/store/disk/disk-snapshot-files.ts';
import { release } from '../../domain/sample.ts';
import { channelAt } from '../../serving/serving-node.ts';
import { removeFolder, temporaryFolder } from '../../support/server-process.ts';

/** Version of the file format, written down again so that a changed one fails a test. */
const FORMAT = 3;
const RETRY_MS = 2000;
const TURNS_MAX = 100_000;

const folders: string[] = [];
afterEach(() => {
  vi.useRealTimers();
  for (const folder of folders.splice(0)) removeFolder(folder);
});

/**
 * Creates a data directory with its snapshot files; `open` opens it as a process of that number would,
 * `again` as the next process, and `names` lists the indexes.
 */
function dataDirectory() {
  const path = temporaryFolder('sluice-last-good-');
  folders.push(path);
  const snapshots = join(path, 'snapshots');
  const faults: DiskFault[] = [];
  const names = () => readdirSync(snapshots).filter((name) => !name.endsWith('.releases'));
  const open = (worker?: number) =>
    new DiskSnapshotFiles(path, worker, (fault) => faults.push(fault));
  return { path, snapshots, faults, open, again: () => open(), files: open(), names };
}

/** Takes turns, in each of which the time of a retry passes, until the disk is as the check wants it. */
async function eventually(what: string, check: () => boolean | Promise<boolean>): Promise<void> {
  for (let turn = 0; !(await check()); turn++) {
    if (turn > TURNS_MAX) throw new Error(`not after ${turn} turns: ${what}`);
    vi.advanceTimersByTime(RETRY_MS);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Writes one snapshot and returns the path of its index. */
async function keptFile({ files, snapshots, names }: ReturnType<typeof dataDirectory>) {
  files.keep(channelAt(1));
  await files.flush();
  const [name] = names();
  if (name === undefined) throw new Error('nothing was written');
  return join(snapshots, name);
}

it('what is kept is found whole, by this process once written and by the next', async () => {
  const { files, again, faults } = dataDirectory();
  expect(await files.find('acme', 'stable')).toBeUndefined();
  expect(await files.hasAny()).toBe(false);
  await files.flush();
  const snapshot = channelAt(7, 'stable', { minimumSupportedVersion: '1.0.0' });
  files.keep(snapshot);
  await files.flush();
  for (const reader of [files, again()]) {
    expect(await reader.find('acme', 'stable')).toEqual(snapshot);
    expect(await reader.find('acme', 'beta')).toBeUndefined();
    expect(await reader.hasAny()).toBe(true);
  }
  expect(faults).toEqual([]);
});

it('of many kept in a row the newest is found after a flush, also what is kept while it waits', async () => {
  const { files, again, names } = dataDirectory();
  const channels = Array.from({ length: 20 }, (_, index) => `channel${index}`);
  for (const channel of channels) files.keep(channelAt(1, channel));
  for (let revision = 1; revision <= 100; revision++) files.keep(channelAt(revision));
  const flushed = files.flush();
  files.keep(channelAt(2, 'late'));
  await flushed;
  const next = again();
  expect((await next.find('acme', 'stable'))?.revision).toBe(100);
  expect((await next.find('acme', 'late'))?.revision).toBe(2);
  for (const channel of channels) expect((await next.find('acme', channel))?.revision).toBe(1);
  expect(names()).toHaveLength(22);
});

it('names that differ only by case, the longest, and those no file system would take are found', async () => {
  const { files, again, names, faults } = dataDirectory();
  const apps = ['acme', 'ACME', 'a'.repeat(64), 'con', 'a.', 'a..b', 'nul.txt'];
  const channels = ['stable', 'Stable', 'b'.repeat(64)];
  const all = apps.flatMap((appRef) => channels.map((channel) => [appRef, channel] as const));
  for (const [index, [appRef, channel]] of all.entries()) {
    files.keep(channelAt(index + 1, channel, { appRef }));
  }
  await files.flush();
  expect(new Set(names().map((name) => name.toLowerCase())).size).toBe(all.length);
  for (const [index, [appRef, channel]] of all.entries()) {
    expect((await again().find(appRef, channel))?.revision).toBe(index + 1);
  }
  expect(faults).toEqual([]);
});

/** Returns the path of the only release of an index. */
function releaseFile(index: string): string {
  const folder = index.replace('.json', '.releases');
  const [name = ''] = readdirSync(folder);
  return join(folder, name);
}

describe.each([
  ['index', (index: string) => index],
  ['release', releaseFile],
])('a file with an %s', (_file, fileAt) => {
  it.each([
    ['half-written', (text: string) => text.slice(0, text.length / 2)],
    ['empty', () => ''],
    ['of zeros, as after a power cut', (text: string) => '\0'.repeat(text.length)],
    ['without a format', (text: string) => text.replace(/"format":\d+,/, '')],
    ['without a checksum', (text: string) => text.replace(/,"sha256":"\w+"/, '')],
    ['changed by hand', (text: string) => text.replace(/1/g, '2')],
    ['of the wrong shape', () => sealFile(FORMAT, '{}\n')],
    ['of no JSON', () => sealFile(FORMAT, 'snapshot')],
  ])(
    'that is %s counts as none, is reported by name, and is replaced by what is kept next',
    async (_what, damage) => {
      const directory = dataDirectory();
      const index = await keptFile(directory);
      const path = fileAt(index);
      writeFileSync(path, damage(readFileSync(path, 'utf8')));
      const next = directory.again();
      for (let time = 0; time < 2; time++) expect(await next.hasAny()).toBe(false);
      const named = expect.stringContaining(index.replace('.json', ''));
      expect(directory.faults).toMatchObject([{ doing: 'read', path: named }]);
      expect(await next.find('acme', 'stable')).toBeUndefined();
      next.keep(channelAt(1));
      await next.flush();
      expect(await directory.again().find('acme', 'stable')).toEqual(channelAt(1));
    },
  );
});

it('an index whose release is missing, or of another format, counts as none, and is reported', async () => {
  const directory = dataDirectory();
  const index = await keptFile(directory);
  const path = releaseFile(index);
  const text = readFileSync(path, 'utf8');
  writeFileSync(path, sealFile(FORMAT - 1, text.slice(text.indexOf('\n') + 1)));
  expect(await directory.again().find('acme', 'stable')).toBeUndefined();
  rmSync(path);
  expect(await directory.again().find('acme', 'stable')).toBeUndefined();
  expect(directory.faults).toMatchObject(
    [path, index].map((each) => ({ doing: 'read', path: each })),
  );
});

it('what 0.3.0 kept, without numbers, counts as none until it is written anew', async () => {
  const directory = dataDirectory();
  const path = await keptFile(directory);
  const folder = `${path.slice(0, -'.json'.length)}.releases`;
  const edit = (file: string, how: (content: string) => string) => {
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, sealFile(FORMAT, how(text.slice(text.indexOf('\n') + 1))));
  };
  edit(path, (content) => content.replace(/,"ddi":null,"ddiAuth":null/, ''));
  for (const name of readdirSync(folder)) {
    edit(join(folder, name), (content) => content.replace(/"number":\d+,?/, ''));
  }
  const next = directory.again();
  expect(await next.find('acme', 'stable')).toBeUndefined();
  const kept = channelAt(2, 'stable', { releases: channelAt(1).releases });
  next.keep(kept);
  await next.flush();
  expect(await directory.again().find('acme', 'stable')).toEqual(kept);
  expect(kept.releases[0]?.number).toBeGreaterThan(0);
});

it('a release is written once, and removed when no index names it any more', async () => {
  const { files, snapshots } = dataDirectory();
  const releases = Array.from({ length: 50 }, (_, index) => release(`1.0.${index}`));
  files.keep(channelAt(1, 'stable', { releases }));
  await files.flush();
  const [name = ''] = readdirSync(snapshots).filter((each) => each.endsWith('.releases'));
  const folder = join(snapshots, name);
  const filesIn = () =>
    new Map(readdirSync(folder).map((each) => [each, statSync(join(folder, each)).ino]));
  const before = filesIn();
  const changed = release('1.0.7', { status: 'paused' });
  files.keep(channelAt(2, 'stable', { releases: releases.with(7, changed) }));
  await files.flush();
  const after = filesIn();
  expect(after.size).toBe(50);
  expect([...after].filter(([each, file]) => before.get(each) === file)).toHaveLength(49);
  expect((await files.find('acme', 'stable'))?.releases[7]).toEqual(changed);
});

describe('a snapshot that has the releases of the last one', () => {
  /** Returns a later state with the release of the first. */
  function later(revision: number) {
    return channelAt(revision, 'stable', { releases: channelAt(1).releases });
  }

  it('is whole however soon after the channel was forgotten it is there again', async () => {
    const { files, again } = dataDirectory();
    for (let round = 0; round < 15; round++) {
      files.keep(channelAt(1));
      // Each time the removal is a little further when the channel comes back.
      for (let turn = 0; turn < round; turn++) await new Promise(setImmediate);
      files.forget('acme', 'stable');
      for (let turn = 0; turn < round; turn++) await new Promise(setImmediate);
      files.keep(channelAt(1));
      await files.flush();
      expect(await again().find('acme', 'stable'), `round ${round}`).toEqual(channelAt(1));
    }
  });

  it('is whole after somebody removed files from the folder', async () => {
    const directory = dataDirectory();
    const index = await keptFile(directory);
    const removed = releaseFile(index);
    rmSync(removed);
    // The time of the folder's last change has a resolution of milliseconds.
    utimesSync(dirname(removed), new Date(), new Date(Date.now() + 1000));
    directory.files.keep(later(2));
    await directory.files.flush();
    expect(await directory.again().find('acme', 'stable')).toEqual(later(2));
  });
});

it.each([
  ['an older', '{"format":1,"snapshot":{}}'],
  ['a newer', sealFile(1_000_000, '{}')],
])('a file of %s version counts as none, and is no fault', async (_which, content) => {
  const directory = dataDirectory();
  writeFileSync(await keptFile(directory), content);
  const next = directory.again();
  expect(await next.hasAny()).toBe(false);
  expect(await next.find('acme', 'stable')).toBeUndefined();
  expect(directory.faults).toEqual([]);
});

it('only the owner of the directory can read what is kept', async () => {
  const { path } = dataDirectory();
  const worker = new DiskSnapshotFiles(path, 3, () => undefined);
  worker.keep(channelAt(1));
  await worker.flush();
  const folder = join(path, 'snapshots', 'worker-3');
  const [index = ''] = readdirSync(folder).filter((name) => name.endsWith('.json'));
  const kept = join(folder, index);
  const modes = [
    join(path, 'snapshots'),
    folder,
    dirname(releaseFile(kept)),
    kept,
    releaseFile(kept),
  ].map((each) => statSync(each).mode & 0o777);
  expect(modes).toEqual([0o700, 0o700, 0o700, 0o600, 0o600]);
});

it('a draft that a crash left does not count, and is no obstacle', async () => {
  const directory = dataDirectory();
  const path = await keptFile(directory);
  rmSync(path);
  writeFileSync(`${path}.draft`, '{"format":1,"snap');
  const next = directory.again();
  expect(await next.hasAny()).toBe(false);
  expect(await next.find('acme', 'stable')).toBeUndefined();
  next.keep(channelAt(2));
  await next.flush();
  expect((await next.find('acme', 'stable'))?.revision).toBe(2);
  expect(directory.names()).toHaveLength(1);
});

it.each([true, false])(
  'what cannot be written is reported, and written once it can; by a stop: %s',
  async (isStopped) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { files, again, snapshots, faults } = dataDirectory();
    // A file takes the place of the directory, so nothing can be written below it.
    writeFileSync(snapshots, '');
    const channels = Array.from({ length: 20 }, (_, index) => `channel${index}`);
    for (const channel of channels) files.keep(channelAt(1, channel));
    await vi.waitUntil(() => faults.length > 0);
    expect(faults[0]).toMatchObject({ doing: 'write', path: snapshots });
    // A stop tries once more; no time passes, so no retry comes by itself.
    files.keep(channelAt(2, 'channel0'));
    await files.flush();
    expect(await again().find('acme', 'channel0')).toBeUndefined();
    rmSync(snapshots);
    if (isStopped) await files.flush();
    else
      await eventually('everything is written', async () => {
        const found = await Promise.all(channels.map((channel) => again().find('acme', channel)));
        return found.every((snapshot) => snapshot !== undefined);
      });
    await files.flush();
    expect((await again().find('acme', 'channel0'))?.revision).toBe(2);
    expect((await again().find('acme', 'channel19'))?.revision).toBe(1);
  },
);

it('one file that cannot be written does not keep the others from it', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const directory = dataDirectory();
  const path = await keptFile(directory);
  rmSync(path);
  // No file can replace a directory, and none can be read.
  mkdirSync(path);
  const { files, faults, again } = directory;
  expect(await again().find('acme', 'stable')).toBeUndefined();
  expect(faults.splice(0)).toMatchObject([{ doing: 'read', path }]);
  files.keep(channelAt(2));
  files.keep(channelAt(2, 'beta'));
  await eventually('the others are written', async () => {
    return (await again().find('acme', 'beta'))?.revision === 2;
  });
  expect(faults.length).toBeGreaterThan(0);
  rmSync(path, { recursive: true });
  await eventually('it is written, too', async () => {
    return (await again().find('acme', 'stable'))?.revision === 2;
  });
});

it('what is kept anew while its write fails is what is written, not the older one', async () => {
  const directory = dataDirectory();
  const path = await keptFile(directory);
  rmSync(path);
  mkdirSync(path);
  const { files, faults, again } = directory;
  // A snapshot is kept at every step of a write whose last step fails.
  let revision = 1;
  while (faults.length === 0) {
    revision += 1;
    files.keep(channelAt(revision));
    await new Promise((resolve) => setImmediate(resolve));
  }
  rmSync(path, { recursive: true });
  await files.flush();
  expect((await again().find('acme', 'stable'))?.revision).toBe(revision);
});

describe('the record that the snapshots are of', () => {
  const [NAME, OTHER] = ['rec_0123456789abcdefghjkmnpqrs', 'rec_zzzzzzzzzzzzzzzzzzzzzzzzzz'];
  /** The files of a node that is told whose they are; an edge knows it from its index. */
  const held = (path: string, worker?: number) =>
    new DiskSnapshotFiles(path, worker, () => undefined, true);

  it('is awaited before anything is written, kept by every process, and read by the next', async () => {
    const { path, open } = dataDirectory();
    const [files, worker] = [held(path), held(path, 2)];
    expect(await files.readRecord()).toBeUndefined();
    files.keep(channelAt(1));
    await files.flush();
    // It is found meanwhile.
    expect(await files.find('acme', 'stable')).toMatchObject({ revision: 1 });
    expect(await open().hasAny()).toBe(false);
    for (const each of [files, worker]) {
      each.keepRecord(NAME);
      await each.flush();
    }
    expect(await open().find('acme', 'stable')).toMatchObject({ revision: 1 });
    expect(readFileSync(join(path, 'snapshots', 'worker-2', 'record'), 'utf8')).toBe(`${NAME}\n`);
    // Where it is known already, there is nothing to wait for.
    const next = held(path);
    expect(await next.readRecord()).toBe(NAME);
    next.keep(channelAt(2));
    await next.flush();
    expect(await open().find('acme', 'stable')).toMatchObject({ revision: 2 });
  });

  it('that cannot be read counts as unknown, and is written again', async () => {
    const { path, snapshots, again } = dataDirectory();
    mkdirSync(snapshots, { recursive: true });
    writeFileSync(join(snapshots, 'record'), 'x');
    const next = held(path);
    expect(await next.readRecord()).toBeUndefined();
    for (let time = 0; time < 2; time++) next.keepRecord(OTHER);
    await next.flush();
    expect(await again().readRecord()).toBe(OTHER);
  });
});

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
    for (const [revision, writer, reader] of [
      [3, undefined, 2],
      [4, 2, undefined],
    ] as const) {
      const files = open(writer);
      files.keep(channelAt(revision));
      await files.flush();
      expect((await open(reader).find('acme', 'stable'))?.revision).toBe(revision);
    }
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

  async function namesIn(files: DiskSnapshotFiles, countMax = 100): Promise<string[]> {
    return (await files.list(countMax)).map(({ channel }) => channel).sort();
  }

  it('the list has every channel that a process of the node kept, once, with all its names', async () => {
    const { open } = dataDirectory();
    const [alone, worker] = [open(), open(3)];
    for (const name of ['alpha', 'both']) alone.keep(channelAt(1, name));
    for (const name of ['both', 'gamma']) worker.keep(channelAt(2, name));
    await Promise.all([alone.flush(), worker.flush()]);
    expect(await namesIn(open())).toEqual(['alpha', 'both', 'gamma']);
    const channel = expect.any(String);
    const [first] = await open().list(1);
    expect(first).toEqual({
      appId: 'app_1',
      appRef: 'acme',
      channelId: `chn_${first?.channel}`,
      channel,
    });
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
