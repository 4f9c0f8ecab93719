// Files of a journal. A record is its length and checksum, 32 bits each, the time of its making in
// milliseconds since 1970 as a 64-bit float, and its content; numbers are little-endian. The checksum is over
// the time and the content, so that a record which a kill has cut off is recognised.

import { type FileHandle, open } from 'node:fs/promises';
import { crc32 } from 'node:zlib';

const HEAD_BYTES = 16;
const CHECKSUM_AT = 4;
const TIME_AT = 8;
const CHUNK_BYTES = 1024 * 1024;
/** Last byte of a time of these decades. */
const YEARS = 0x42;
/** Maximum number of bytes whose checksums are computed in search of a record: 50 ms. */
const SEARCH_BYTES_MAX = 64 * 1024 * 1024;

export type JournalRecord = {
  readonly content: Buffer;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly begin: number;
  /** Offset behind the record. */
  readonly end: number;
};

/** Returns the bytes of a record. */
export function writeRecord(content: Buffer, at: number): Buffer {
  const record = Buffer.allocUnsafe(HEAD_BYTES + content.length);
  record.writeUInt32LE(content.length, 0);
  record.writeDoubleLE(at, TIME_AT);
  record.set(content, HEAD_BYTES);
  record.writeUInt32LE(crc32(record.subarray(TIME_AT)), CHECKSUM_AT);
  return record;
}

/**
 * Reads the records of a file from an offset on, up to another. What is not as it was written is passed over,
 * up to the next record that is.
 */
export async function* readRecords(
  path: string,
  from: number,
  to: number,
): AsyncGenerator<JournalRecord> {
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

/** Returns the record at the beginning of these bytes; undefined when they do not hold all of it. */
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
 * Whether the first record of these bytes is not the one that was written: its checksum says so, or it would
 * be longer than what is left of the file.
 */
function isDamaged(held: Buffer, leftBytes: number): boolean {
  if (held.length < HEAD_BYTES) return false;
  const length = HEAD_BYTES + held.readUInt32LE(0);
  return length > leftBytes || (held.length >= length && !isIntact(held, 0, length));
}

/**
 * Returns the offset of the first record that is intact behind a damaged one, which these bytes begin with;
 * undefined when none is found. Where the damaged one says itself where it ends, its content, which may look
 * like records, is not looked through.
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

/** Whether a time with this second-last byte is one of the years 2004 to 2109. */
function isLikely(byte: number): boolean {
  return byte >= 0x70 && byte < 0x90;
}
