// Tests of the journal in which an edge keeps its check-ins: what was accepted survives a kill, in its order.

import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { CheckInJournalFiles } from '../../src/edge/journal-files.ts';
import { removeFolder, temporaryFolder } from '../support/server-process.ts';

const MANY_BYTES = 1024 * 1024;
const SEGMENT_BYTES = 8 * 1024 * 1024;
/** Longest time for 50 MiB on a busy disk. */
const DISK_MS_MAX = 120_000;

let directory: string;
const faults: string[] = [];
const opened: CheckInJournalFiles[] = [];

beforeEach(() => {
  directory = temporaryFolder('sluice-journal-');
  faults.length = 0;
});
afterEach(async () => {
  for (const journal of opened.splice(0)) await journal.close();
  removeFolder(directory);
});

async function open(bytesMax = 1024 * MANY_BYTES): Promise<CheckInJournalFiles> {
  const onFault = (path: string, error: unknown) => faults.push(`${path}: ${error}`);
  const journal = await CheckInJournalFiles.open({ directory, bytesMax, onFault });
  opened.push(journal);
  return journal;
}

async function append(journal: CheckInJournalFiles, ...texts: string[]): Promise<void> {
  const outcomes = await Promise.all(texts.map((text) => journal.append(Buffer.from(text))));
  expect(outcomes).toEqual(texts.map(() => 'accepted'));
}

async function read(journal: CheckInJournalFiles, bytesMax = MANY_BYTES): Promise<string[]> {
  return (await journal.read(bytesMax)).map((batch) => batch.toString());
}

function segments(): string[] {
  return readdirSync(directory).filter((name) => name.endsWith('.log'));
}

/** Damages the first segment. */
function damage(change: (bytes: Buffer) => void): void {
  const path = join(directory, segments()[0] ?? '');
  const bytes = readFileSync(path);
  change(bytes);
  writeFileSync(path, bytes);
}

it('what was accepted is there after a kill, in its order, until it is acknowledged', async () => {
  const first = await open();
  await append(first, 'one', 'two', 'three');
  // Not closed: the process was killed.
  const second = await open();
  expect([second.count, await read(second)]).toEqual([3, ['one', 'two', 'three']]);
  await second.acknowledge(2);
  const third = await open();
  expect([third.count, await read(third)]).toEqual([1, ['three']]);
  await append(third, 'four');
  expect(await read(third)).toEqual(['three', 'four']);
  await third.acknowledge(2);
  expect([third.count, third.bytes, third.ageMs, await read(third)]).toEqual([0, 0, 0, []]);
  expect(faults).toEqual([]);
});

it('a batch is on disk at once when none was before it, and shares a sync with others else', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  try {
    const journal = await open();
    await append(journal, 'one');
    const later = append(journal, 'two', 'three');
    await journal.read(MANY_BYTES);
    expect([journal.count, vi.getTimerCount()]).toEqual([1, 1]);
    vi.advanceTimersByTime(50);
    await later;
    expect(await read(journal)).toEqual(['one', 'two', 'three']);
    vi.advanceTimersByTime(50);
    await append(journal, 'four');
  } finally {
    vi.useRealTimers();
  }
});

it('what is read and not acknowledged is read again, and only read batches are removed', async () => {
  const journal = await open();
  await append(journal, 'one', 'two');
  expect(await read(journal)).toEqual(['one', 'two']);
  expect(await read(journal)).toEqual(['one', 'two']);
  // A read has a bound of bytes, and at least one batch.
  expect([await read(journal, 1), await read(journal, 8)]).toEqual([['one'], ['one', 'two']]);
  await append(journal, 'three');
  await journal.acknowledge(2);
  expect(await read(journal)).toEqual(['three']);
  await journal.acknowledge(0);
  expect(journal.count).toBe(1);
});

it(
  'the largest batch that a node makes is read as it was appended',
  async () => {
    const batch = Buffer.alloc(50 * MANY_BYTES, 7);
    const journal = await open();
    expect(await journal.append(batch)).toBe('accepted');
    const [read] = await (await open()).read(MANY_BYTES);
    expect(read?.equals(batch)).toBe(true);
  },
  DISK_MS_MAX,
);

it.each([
  [
    'cut off by a kill',
    (path: string) => truncateSync(path, readFileSync(path).length - 1),
    ['one'],
  ],
  [
    'followed by what is none',
    (path: string) => appendFileSync(path, Buffer.alloc(40, 7)),
    ['one', 'two'],
  ],
])('a record that is %s is told, and hides none of a later segment', async (_, harm, left) => {
  await append(await open(), 'one', 'two');
  harm(join(directory, segments()[0] ?? ''));
  const journal = await open();
  expect([journal.count, await read(journal), faults.length]).toEqual([left.length, left, 1]);
  await append(journal, 'three');
  expect(await read(await open())).toEqual([...left, 'three']);
});

// The second makes records a little longer: past the end of the file, and not of what was read before.
it.each([0xff, 0x40])(
  'a byte with other bits (%i) costs the record that it is in, wherever it is',
  async (bits) => {
    const texts = ['one', 'two', 'three', 'four', 'five'];
    await append(await open(), ...texts);
    const path = join(directory, segments()[0] ?? '');
    const bytes = readFileSync(path);
    const ends = texts.map(
      (_, index) => 16 * (index + 1) + texts.slice(0, index + 1).join('').length,
    );
    for (const [at, byte] of bytes.entries()) {
      const damaged = Buffer.from(bytes);
      damaged[at] = byte ^ bits;
      writeFileSync(path, damaged);
      const lost = ends.findIndex((end) => at < end);
      const journal = await open();
      const left = texts.filter((_, index) => index !== lost);
      expect([at, journal.count, await read(journal)]).toEqual([at, 4, left]);
      const place = lost === 4 ? 'at its end are no record' : 'between its records are damaged';
      const size = 16 + (texts[lost] ?? '').length;
      expect(faults.splice(0)).toEqual([expect.stringContaining(`: ${size} bytes ${place}`)]);
      await journal.acknowledge(4);
      expect([at, journal.count, journal.bytes]).toEqual([at, 0, 0]);
      rmSync(join(directory, 'acknowledged'));
    }
  },
);

it('records that are damaged one after the other are skipped together', async () => {
  const texts = Array.from({ length: 1000 }, (_, index) => `batch ${index} ${'x'.repeat(300)}`);
  await append(await open(), ...texts);
  damage((bytes) => {
    for (const lost of ['batch 414 ', 'batch 415 ']) bytes.writeUInt8(0, bytes.indexOf(lost));
    // The length of a third one.
    bytes.writeUInt8(0xff, bytes.indexOf('batch 416 ') - 13);
  });
  const journal = await open();
  const left = texts.filter((_, index) => index < 414 || index > 416);
  expect([journal.count, await read(journal)]).toEqual([997, left]);
  expect(faults).toEqual([expect.stringContaining('bytes between its records are damaged')]);
});

it('a content full of what looks like records is not looked through for ever', async () => {
  const head = Buffer.alloc(16);
  head.writeUInt32LE(1024 * 1024, 0);
  head.writeDoubleLE(Date.now(), 8);
  const hostile = Buffer.concat(Array.from({ length: 200_000 }, () => head));
  const journal = await open();
  await journal.append(hostile);
  await append(journal, 'two');
  damage((bytes) => bytes.writeUInt8(bytes.readUInt8(0) ^ 0xff, 0));
  expect((await open()).count).toBe(0);
  expect(faults).toHaveLength(1);
});

it('at its bound the journal is full, and takes batches again once some are acknowledged', async () => {
  const journal = await open(400);
  await append(journal, 'x'.repeat(150), 'y'.repeat(150));
  expect(await journal.append(Buffer.from('z'.repeat(150)))).toBe('full');
  expect(await read(journal)).toHaveLength(2);
  await journal.acknowledge(1);
  await append(journal, 'z'.repeat(150));
  expect((await read(journal)).map((text) => text[0])).toEqual(['y', 'z']);
});

it('a segment that is full is followed by another, and removed when all is acknowledged', async () => {
  const journal = await open();
  const large = 'x'.repeat(SEGMENT_BYTES / 2 + 1);
  for (const digit of ['1', '2', '3']) await append(journal, digit + large);
  expect(segments()).toHaveLength(2);
  const all = await journal.read(4 * SEGMENT_BYTES);
  expect(all.map((batch) => batch.toString('utf8', 0, 1))).toEqual(['1', '2', '3']);
  await journal.acknowledge(3);
  expect(segments()).toHaveLength(1);
  expect(await read(await open())).toEqual([]);
});

it('a place that cannot be read delivers again, and loses nothing', async () => {
  const journal = await open();
  await append(journal, 'one', 'two');
  await read(journal);
  await journal.acknowledge(1);
  writeFileSync(join(directory, 'acknowledged'), 'nonsense');
  expect(await read(await open())).toEqual(['one', 'two']);
  expect(faults).toHaveLength(1);
});

it('what is appended while the journal closes is on disk', async () => {
  const journal = await open();
  const appended = journal.append(Buffer.from('last'));
  await journal.close();
  expect(await appended).toBe('accepted');
  await expect(journal.append(Buffer.from('later'))).rejects.toThrow('closed');
  expect(await read(await open())).toEqual(['last']);
});

it('a full disk gets room again by what is acknowledged, though the place cannot be noted', async () => {
  const journal = await open();
  const large = 'x'.repeat(SEGMENT_BYTES);
  await append(journal, large);
  await append(journal, 'two');
  // As if there were no room for it.
  mkdirSync(join(directory, 'acknowledged.draft'));
  await read(journal);
  await journal.acknowledge(1);
  await read(journal);
  await journal.acknowledge(1);
  expect([segments(), faults.length]).toEqual([['000002.log'], 2]);
});

it('a full disk is told, and gets no file with each batch that it does not take', async () => {
  const journal = await open();
  for (let count = 0; count < 3; count++) {
    const path = join(directory, '000001.log');
    symlinkSync('/dev/full', path);
    await expect(journal.append(Buffer.from('one'))).rejects.toThrow('the journal');
    expect([segments(), journal.count, journal.bytes]).toEqual([[], 0, 0]);
    expect(faults.splice(0)).not.toEqual([]);
  }
  await append(journal, 'one');
  expect([segments(), await read(journal)]).toEqual([['000001.log'], ['one']]);
});

it.each([[['one', 'two', 'three']], [['one', 'two']]])(
  'of %j the second one, damaged while the journal is open, is told, and holds nothing up',
  async (texts) => {
    const journal = await open();
    await append(journal, ...texts);
    damage((bytes) => bytes.writeUInt8(0, bytes.indexOf('two')));
    const left = texts.filter((text) => text !== 'two');
    expect([await read(journal), journal.count]).toEqual([left, left.length]);
    expect(faults).toEqual([expect.stringContaining('1 records are damaged')]);
    await append(journal, 'four');
    expect(await read(journal)).toEqual([...left, 'four']);
    await journal.acknowledge(texts.length);
    expect([journal.count, journal.bytes, await read(journal)]).toEqual([0, 0, []]);
  },
);

it('a reader that waits is woken by a batch, and by the end of its patience', async () => {
  const journal = await open();
  const stop = new AbortController();
  const woken = journal.appended(60_000, stop.signal);
  await append(journal, 'one');
  await woken;
  await read(journal);
  await journal.acknowledge(1);
  await journal.appended(10, stop.signal);
  stop.abort();
  await journal.appended(60_000, stop.signal);
  expect(journal.count).toBe(0);
});
