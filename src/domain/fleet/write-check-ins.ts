// Check-ins as an edge hands them over: payloads, each with its length before it, 4 bytes little-endian.

import type { CheckIn } from './check-in.ts';
import { CheckInPacker } from './check-in-pack.ts';
import { packCheckInPayload, parseCheckInPayload } from './check-in-payload.ts';
import { packCheckIn } from './pack-check-in.ts';

const LENGTH_BYTES = 4;

/** Writes check-ins as one batch. */
export function writeCheckIns(checkIns: readonly CheckIn[]): Buffer {
  const packer = new CheckInPacker();
  for (const checkIn of checkIns) packCheckIn(packer, checkIn);
  return joinBatches([packCheckInPayload(packer.take(), (length) => Buffer.alloc(length))]);
}

/** Joins payloads for one call. */
export function joinBatches(payloads: readonly Buffer[]): Buffer {
  return Buffer.concat(
    payloads.flatMap((payload) => {
      const length = Buffer.alloc(LENGTH_BYTES);
      length.writeUInt32LE(payload.length);
      return [length, payload];
    }),
  );
}

/**
 * Reads the check-ins of joined payloads one payload after another; undefined for one that cannot be read,
 * which is the last.
 */
export function* readBatches(joined: Buffer): Generator<readonly CheckIn[] | undefined> {
  for (let at = 0; at < joined.length; ) {
    const isWhole = joined.length - at >= LENGTH_BYTES;
    const end = isWhole ? at + LENGTH_BYTES + joined.readUInt32LE(at) : Number.POSITIVE_INFINITY;
    const batch =
      end > joined.length
        ? undefined
        : parseCheckInPayload(joined.subarray(at + LENGTH_BYTES, end));
    yield batch;
    if (batch === undefined) return;
    at = end;
  }
}
