// Files of a journal. A record is its length and checksum, 32 bits each, the time of its making in
// milliseconds since 1970 as a 64-bit float, and its content; numbers are little-endian. The checksum is over
// the time and the content, so that a record which a kill has cut off is recognised.

import { type FileHandle, open } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { LIMIT } from '../../contract/limit.ts';

const HEAD_BYTES = 16;
const TIME_AT = 8;
const CHUNK_BYTES = 1024 * 1024;

export type JournalRecord = {
  readonly content: Buffer;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Offset behind the record. */
  readonly end: number;
};

/** Returns the bytes of a record. */
export function writeRecord(content: Buffer, at: number): Buffer {
  const record = Buffer.allocUnsafe(HEAD_BYTES + content.length);
  record.writeUInt32LE(content.length, 0);
  record.writeDoubleLE(at, TIME_AT);
  record.set(content, HEAD_BYTES);
  record.writeUInt32LE(crc32(record.subarray(TIME_AT)), 4);
  return record;
}

/**
 * Reads the records of a file from an offset on, up to another. Ends before a record that is not whole, or
 * not the one that was written.
 */
export async function* readRecords(
  path: string,
  from: number,
  to: number,
): AsyncGenerator<JournalRecord> {
  const file = await open(path, 'r');
  try {
    let held = Buffer.alloc(0);
    for (let at = from; ; ) {
      const record = recordIn(held, at);
      if (record !== undefined) {
        yield record;
        held = held.subarray(record.end - at);
        at = record.end;
        continue;
      }
      const chunk = await readChunk(file, at + held.length, to);
      if (chunk.length === 0) return;
      held = Buffer.concat([held, chunk]);
      if (isDamaged(held)) return;
    }
  } finally {
    await file.close();
  }
}

async function readChunk(file: FileHandle, from: number, to: number): Promise<Buffer> {
  const length = Math.min(CHUNK_BYTES, to - from);
  if (length <= 0) return Buffer.alloc(0);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, from);
  return buffer.subarray(0, bytesRead);
}

/** Returns the record at the beginning of these bytes; undefined when they do not hold all of it. */
function recordIn(held: Buffer, at: number): JournalRecord | undefined {
  if (held.length < HEAD_BYTES) return undefined;
  const length = HEAD_BYTES + held.readUInt32LE(0);
  if (held.length < length || isDamaged(held)) return undefined;
  return {
    content: held.subarray(HEAD_BYTES, length),
    at: held.readDoubleLE(TIME_AT),
    end: at + length,
  };
}

/** Whether the first record of these bytes is whole, and has another checksum than it names. */
function isDamaged(held: Buffer): boolean {
  if (held.length < HEAD_BYTES) return false;
  const length = HEAD_BYTES + held.readUInt32LE(0);
  if (held.length < length) return length > RECORD_BYTES_MAX;
  return crc32(held.subarray(TIME_AT, length)) !== held.readUInt32LE(4);
}

/** Maximum size of a record: as much as an edge can hand over. */
const RECORD_BYTES_MAX = LIMIT.edgeBodyBytesMax;
