// Journal of check-ins in append-only files. An append is written and synced at once, or with others 50 ms
// after the last sync began. A kill loses only what was not synced, and so was not yet accepted.
//
//   000001.log  000002.log  000003.log      segments, removed once fully acknowledged
//        ▲ acknowledged          ▲ appended
//
// A separate file has the acknowledged position. It is not synced: an older one only repeats some batches.

import { type FileHandle, mkdir, open, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { Unavailable } from '../contract/store-fault.ts';
import { pause } from '../flow/pause.ts';
import type { CheckInJournal } from '../store/check-in-queue.ts';
import { FILE_MODE, FOLDER_MODE, replaceFile } from '../store/disk/channel-files.ts';

/** Minimum time in milliseconds between the starts of two syncs. */
const SYNC_INTERVAL_MS = 50;
/** Size above which a segment gets no more records. */
const SEGMENT_BYTES_MAX = 8 * 1024 * 1024;
const SEGMENT = /^(\d{6,15})\.log$/;
const PLACE_FILE = 'acknowledged';

type JournalOptions = {
  readonly directory: string;
  /** Maximum number of unacknowledged bytes. */
  readonly bytesMax: number;
  /** Gets damage found when the journal is opened, and errors of the disk. */
  readonly onFault: (path: string, error: unknown) => void;
};

/** `size`: bytes of the segment's whole records. `left`: number of its unacknowledged records. */
type Segment = { readonly number: number; size: number; left: number };
type Place = { readonly segment: number; readonly offset: number };
type Pending = {
  readonly record: Buffer;
  readonly resolve: (outcome: 'accepted') => void;
  readonly reject: (error: unknown) => void;
};
/** End and size of a record that was read and not acknowledged. */
type ReadRecord = { readonly end: Place; readonly bytes: number };

export class CheckInJournalFiles implements CheckInJournal {
  private segments: Segment[] = [];
  private place: Place = { segment: 0, offset: 0 };
  private file: FileHandle | undefined;
  private pending: Pending[] = [];
  private pendingBytes = 0;
  private timer: NodeJS.Timeout | undefined;
  /** Monotonic time in milliseconds before which no sync begins. */
  private nextSyncAt = 0;
  private syncing: Promise<void> = Promise.resolve();
  private readOnes: readonly ReadRecord[] = [];
  private waiting: (() => void) | undefined;
  /** Time of the oldest unacknowledged record that is known, in milliseconds since 1970. */
  private oldestAt: number | undefined;
  private recordCount = 0;
  private unacknowledged = 0;
  private isClosed = false;

  private constructor(private readonly options: JournalOptions) {}

  /** Opens a journal with its records. Rejects if the directory cannot be used. */
  static async open(options: JournalOptions): Promise<CheckInJournalFiles> {
    const journal = new CheckInJournalFiles(options);
    await mkdir(options.directory, { recursive: true, mode: FOLDER_MODE });
    await journal.recall();
    return journal;
  }

  get count(): number {
    return this.recordCount;
  }

  get bytes(): number {
    return this.unacknowledged + this.pendingBytes;
  }

  get ageMs(): number {
    return this.oldestAt === undefined ? 0 : Math.max(0, Date.now() - this.oldestAt);
  }

  append(batch: Buffer): Promise<'accepted' | 'full'> {
    if (this.isClosed)
      return Promise.reject(new Unavailable('engine', new Error('closed'), 'the journal'));
    const record = writeRecord(batch, Date.now());
    if (this.bytes + record.length > this.options.bytesMax) return Promise.resolve('full');
    this.pendingBytes += record.length;
    return new Promise((resolve, reject) => {
      this.pending.push({ record, resolve, reject });
      // The sync scheduled for the first append also writes all that follow until it begins.
      if (this.pending.length === 1) this.schedule();
    });
  }

  async read(bytesMax: number): Promise<readonly Buffer[]> {
    const batches: Buffer[] = [];
    const ends: ReadRecord[] = [];
    let bytes = 0;
    let oldestAt: number | undefined;
    for (const segment of [...this.segments]) {
      const { number, size, left } = segment;
      if (number < this.place.segment) continue;
      const from = number === this.place.segment ? this.place.offset : 0;
      const before = ends.length;
      let last = from;
      let isCut = false;
      for await (const { content, at, end } of readRecords(this.pathOf(number), from, size)) {
        isCut = batches.length > 0 && bytes + content.length > bytesMax;
        if (isCut) break;
        oldestAt ??= at;
        batches.push(Buffer.from(content));
        bytes += content.length;
        ends.push({ end: { segment: number, offset: end }, bytes: end - last });
        last = end;
      }
      if (isCut) break;
      const lost = left - (ends.length - before);
      if (lost > 0) await this.giveUp(segment, lost, size, last);
    }
    this.readOnes = ends;
    this.oldestAt = oldestAt;
    return batches;
  }

  async acknowledge(count: number): Promise<void> {
    const done = this.readOnes.slice(0, count);
    const last = done.at(-1);
    if (last === undefined) return;
    this.readOnes = [];
    this.place = last.end;
    this.recordCount -= done.length;
    this.unacknowledged -= done.reduce((sum, { bytes }) => sum + bytes, 0);
    for (const { end } of done) {
      const segment = this.segments.find(({ number }) => number === end.segment);
      if (segment !== undefined) segment.left -= 1;
    }
    if (this.recordCount === 0) this.oldestAt = undefined;
    await this.removeDone().catch((error) => this.fault(PLACE_FILE, error));
  }

  async appended(ms: number, signal: AbortSignal): Promise<void> {
    if (this.recordCount > 0 || signal.aborted) return;
    const appended = new Promise<void>((resolve) => {
      this.waiting = resolve;
    });
    await Promise.race([appended, pause(ms, signal)]);
  }

  async close(): Promise<void> {
    this.isClosed = true;
    clearTimeout(this.timer);
    this.sync();
    await this.syncing;
    await this.file?.close();
    this.file = undefined;
  }

  /** Reads the present records of the directory. */
  private async recall(): Promise<void> {
    const { directory } = this.options;
    this.place = (await this.readPlace()) ?? this.place;
    const names = await readdir(directory);
    const numbers = names.flatMap((name) => Number(SEGMENT.exec(name)?.[1] ?? []) || []);
    for (const number of numbers.sort((one, other) => one - other)) {
      if (number < this.place.segment) {
        await rm(this.pathOf(number), { force: true });
        continue;
      }
      await this.recallSegment(number);
    }
  }

  private async recallSegment(number: number): Promise<void> {
    const path = this.pathOf(number);
    const { size } = await stat(path);
    const from = number === this.place.segment ? Math.min(this.place.offset, size) : 0;
    let end = from;
    let left = 0;
    let damaged = 0;
    for await (const record of readRecords(path, from, size)) {
      damaged += record.begin - end;
      end = record.end;
      this.oldestAt ??= record.at;
      left += 1;
    }
    if (damaged > 0)
      this.fault(path, new Error(`${damaged} bytes between its records are damaged`));
    this.recordCount += left;
    this.unacknowledged += end - from;
    this.segments.push({ number, size: end, left });
    if (end < size) this.fault(path, new Error(`${size - end} bytes at its end are no record`));
  }

  private async readPlace(): Promise<Place | undefined> {
    const path = join(this.options.directory, PLACE_FILE);
    try {
      const [segment, offset] = (await readFile(path, 'utf8')).trim().split(' ').map(Number);
      const isPlace = Number.isSafeInteger(segment) && Number.isSafeInteger(offset);
      if (!isPlace) throw new Error('it names no place');
      return { segment: segment as number, offset: offset as number };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') this.fault(path, error);
      return undefined;
    }
  }

  private schedule(): void {
    const waitMs = this.nextSyncAt - performance.now();
    if (waitMs > 0) this.timer = setTimeout(() => this.sync(), waitMs);
    else this.sync();
  }

  private sync(): void {
    this.syncing = this.syncing.then(() => this.writePending());
  }

  private async writePending(): Promise<void> {
    const group = this.pending;
    if (group.length === 0) return;
    this.pending = [];
    this.nextSyncAt = performance.now() + SYNC_INTERVAL_MS;
    const bytes = group.reduce((sum, { record }) => sum + record.length, 0);
    try {
      const segment = await this.openSegment();
      await this.file?.appendFile(Buffer.concat(group.map(({ record }) => record)));
      await this.file?.datasync();
      segment.size += bytes;
      segment.left += group.length;
      this.unacknowledged += bytes;
      this.recordCount += group.length;
      this.oldestAt ??= Date.now();
      for (const { resolve } of group) resolve('accepted');
      this.waiting?.();
      this.waiting = undefined;
    } catch (error) {
      this.fault(this.options.directory, error);
      // Bytes of the group that were written lie beyond the segment's `size`, and are never read.
      await this.leaveSegment();
      await this.removeEmpty();
      for (const { reject } of group) reject(new Unavailable('engine', error, 'the journal'));
    } finally {
      this.pendingBytes -= bytes;
    }
  }

  private async openSegment(): Promise<Segment> {
    const last = this.segments.at(-1);
    if (this.file !== undefined && last !== undefined && last.size < SEGMENT_BYTES_MAX) return last;
    await this.leaveSegment();
    const number = Math.max(last?.number ?? 0, this.place.segment) + 1;
    this.file = await open(this.pathOf(number), 'a', FILE_MODE);
    const segment = { number, size: 0, left: 0 };
    this.segments.push(segment);
    return segment;
  }

  private async leaveSegment(): Promise<void> {
    const { file } = this;
    this.file = undefined;
    await file?.close().catch((error: unknown) => this.fault(this.options.directory, error));
  }

  /** Removes a segment without records; otherwise each try on a full disk would leave one. */
  private async removeEmpty(): Promise<void> {
    const last = this.segments.at(-1);
    if (last === undefined || last.size > 0) return;
    try {
      await rm(this.pathOf(last.number), { force: true });
      this.segments.pop();
    } catch (error) {
      this.fault(this.pathOf(last.number), error);
    }
  }

  /**
   * Gives up `lost` damaged records of a segment, which had `size` bytes when its last whole record ended at
   * `end`. If damaged bytes follow that record, nothing more is appended to the segment.
   */
  private giveUp(segment: Segment, lost: number, size: number, end: number): Promise<void> {
    this.syncing = this.syncing.then(async () => {
      this.fault(this.pathOf(segment.number), new Error(`${lost} records are damaged`));
      this.recordCount -= lost;
      segment.left -= lost;
      // If records were appended meanwhile, the next read finds them behind the damaged ones.
      if (segment.size > size) return;
      if (segment === this.segments.at(-1) && end < size) await this.leaveSegment();
      this.unacknowledged -= size - end;
      segment.size = end;
    });
    return this.syncing;
  }

  /**
   * Removes acknowledged segments, then writes the position: a full disk has space for it only after that,
   * and an older position only sends some batches again.
   */
  private async removeDone(): Promise<void> {
    const { segment, offset } = this.place;
    const open = this.file === undefined ? undefined : this.segments.at(-1);
    const isDone = (each: Segment) =>
      each.number < segment || (each.number === segment && offset >= each.size && each !== open);
    const done = this.segments.filter(isDone);
    this.segments = this.segments.filter((each) => !isDone(each));
    for (const { number } of done) await rm(this.pathOf(number), { force: true });
    await replaceFile(join(this.options.directory, PLACE_FILE), `${segment} ${offset}\n`);
  }

  private pathOf(number: number): string {
    return join(this.options.directory, `${String(number).padStart(6, '0')}.log`);
  }

  private fault(path: string, error: unknown): void {
    this.options.onFault(path, error);
  }
}

// Files of a journal. A record is its length and checksum, 32 bits each, its time in milliseconds since 1970
// as a 64-bit float, and its content; numbers are little-endian. The checksum covers the time and the
// content, so that a record cut off by a kill is recognised.

const HEAD_BYTES = 16;
const CHECKSUM_AT = 4;
const TIME_AT = 8;
const CHUNK_BYTES = 1024 * 1024;
/** Last byte of a record's time, for any time in these decades. */
const YEARS = 0x42;
/** Maximum number of bytes that a search for a record checks, which takes about 50 ms. */
const SEARCH_BYTES_MAX = 64 * 1024 * 1024;

type JournalRecord = {
  readonly content: Buffer;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly begin: number;
  /** Offset after the record. */
  readonly end: number;
};

/** Returns the bytes of a record. */
function writeRecord(content: Buffer, at: number): Buffer {
  const record = Buffer.allocUnsafe(HEAD_BYTES + content.length);
  record.writeUInt32LE(content.length, 0);
  record.writeDoubleLE(at, TIME_AT);
  record.set(content, HEAD_BYTES);
  record.writeUInt32LE(crc32(record.subarray(TIME_AT)), CHECKSUM_AT);
  return record;
}

/** Reads the records of a file between two offsets. Skips damaged bytes up to the next intact record. */
async function* readRecords(path: string, from: number, to: number): AsyncGenerator<JournalRecord> {
  const file = await open(path, 'r');
  try {
    let held: Buffer = Buffer.alloc(0);
    for (let at = from; ; ) {
      const record = recordIn(held, at);
      if (record !== undefined) {
        yield record;
        held = held.subarray(record.end - at);
        at = record.end;
        continue;
      }
      if (isDamaged(held, to - at)) {
        held = await readChunk(file, at, to, to - at);
        const skipped = findRecord(held);
        if (skipped === undefined) return;
        held = held.subarray(skipped);
        at += skipped;
        continue;
      }
      const missing =
        held.length < HEAD_BYTES ? 0 : HEAD_BYTES + held.readUInt32LE(0) - held.length;
      const chunk = await readChunk(file, at + held.length, to, Math.max(missing, CHUNK_BYTES));
      if (chunk.length === 0) return;
      held = Buffer.concat([held, chunk]);
    }
  } finally {
    await file.close();
  }
}

async function readChunk(
  file: FileHandle,
  from: number,
  to: number,
  bytesMax: number,
): Promise<Buffer> {
  const length = Math.min(bytesMax, to - from);
  if (length <= 0) return Buffer.alloc(0);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, from);
  return buffer.subarray(0, bytesRead);
}

/** Returns the record at the beginning of these bytes; undefined if they do not contain all of it. */
function recordIn(held: Buffer, at: number): JournalRecord | undefined {
  if (held.length < HEAD_BYTES) return undefined;
  const length = HEAD_BYTES + held.readUInt32LE(0);
  if (held.length < length || !isIntact(held, 0, length)) return undefined;
  return {
    content: held.subarray(HEAD_BYTES, length),
    at: held.readDoubleLE(TIME_AT),
    begin: at,
    end: at + length,
  };
}

function isIntact(held: Buffer, from: number, to: number): boolean {
  return crc32(held.subarray(from + TIME_AT, to)) === held.readUInt32LE(from + CHECKSUM_AT);
}

/**
 * Returns whether the first record of these bytes is damaged: its checksum is wrong, or it would be longer
 * than the rest of the file.
 */
function isDamaged(held: Buffer, leftBytes: number): boolean {
  if (held.length < HEAD_BYTES) return false;
  const length = HEAD_BYTES + held.readUInt32LE(0);
  return length > leftBytes || (held.length >= length && !isIntact(held, 0, length));
}

/**
 * Returns the offset of the first intact record after the damaged one that these bytes begin with; undefined
 * if none is found. If the damaged one's length is right, skips its content, which may look like records.
 */
function findRecord(held: Buffer): number | undefined {
  const end = HEAD_BYTES + held.readUInt32LE(0);
  if (end === held.length) return undefined;
  if (recordIn(held.subarray(end), 0) !== undefined) return end;
  let bytesLeft = SEARCH_BYTES_MAX;
  for (let at = 1; ; at++) {
    const yearAt = held.indexOf(YEARS, at + HEAD_BYTES - 1);
    if (yearAt === -1) return undefined;
    at = yearAt + 1 - HEAD_BYTES;
    const next = at + HEAD_BYTES + held.readUInt32LE(at);
    if (next > held.length || !isLikely(held.readUInt8(yearAt - 1))) continue;
    bytesLeft -= next - at;
    if (bytesLeft < 0) return undefined;
    if (isIntact(held, at, next)) return at;
  }
}

/** Returns whether a time with this second-last byte is in the years 2004 to 2109. */
function isLikely(byte: number): boolean {
  return byte >= 0x70 && byte < 0x90;
}
