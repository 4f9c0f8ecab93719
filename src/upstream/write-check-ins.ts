// Check-ins as they are handed over: batches, each with its length in four bytes, little-endian, before it.

import type { CheckIn } from '../domain/fleet/check-in.ts';
import { NETWORK_WORDS, writeNetwork } from '../domain/fleet/network-words.ts';
import { CheckInPacker } from '../packing/check-in-pack.ts';
import { packCheckInPayload } from '../packing/check-in-payload.ts';
import { internContext, internVersion } from '../packing/interned-value.ts';

/** Bytes that are handed over. */
export type CheckInBatchBytes = Buffer;

const LENGTH_BYTES = 4;

/** Writes check-ins as one batch. */
export function writeCheckIns(checkIns: readonly CheckIn[]): CheckInBatchBytes {
  const packer = new CheckInPacker();
  const network = new Int32Array(NETWORK_WORDS);
  for (const checkIn of checkIns) {
    const { version, deviceId, at, labels } = checkIn;
    writeNetwork(checkIn.network ?? '', network);
    packer.add(internContext(checkIn), internVersion(version), deviceId, at, labels, network);
  }
  return joinBatches([packCheckInPayload(packer.take(), (length) => Buffer.alloc(length))]);
}

/** Joins batches for one call. */
export function joinBatches(batches: readonly Buffer[]): CheckInBatchBytes {
  return Buffer.concat(
    batches.flatMap((batch) => {
      const length = Buffer.alloc(LENGTH_BYTES);
      length.writeUInt32LE(batch.length);
      return [length, batch];
    }),
  );
}
