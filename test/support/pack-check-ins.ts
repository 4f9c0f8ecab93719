// Packs check-ins as a node would.

import type { CheckIn } from '../../src/domain/fleet/check-in.ts';
import {
  type CheckInContext,
  type CheckInPack,
  CheckInPacker,
  InternedValue,
  internContext,
  internVersion,
} from '../../src/domain/fleet/check-in-pack.ts';
import { NETWORK_WORDS, writeNetwork } from '../../src/domain/fleet/network-words.ts';
import type { CheckInBuffer } from '../../src/fleet/check-in-buffer.ts';

/** Packs check-ins, in their order. */
export function packCheckIns(checkIns: readonly CheckIn[]): CheckInPack {
  const packer = new CheckInPacker();
  const contexts = new Map<string, InternedValue<CheckInContext>>();
  for (const { deviceId, at, labels, version, network = '', ...context } of checkIns) {
    const key = JSON.stringify(Object.values(context));
    const known = contexts.get(key) ?? new InternedValue(context);
    contexts.set(key, known);
    const words = new Int32Array(NETWORK_WORDS);
    writeNetwork(network, words);
    packer.add(known, internVersion(version), deviceId, at, labels, words);
  }
  return packer.take();
}

/** Hands a check-in to a buffer as serving does. */
export function addCheckIn(
  buffer: CheckInBuffer,
  { deviceId, at, labels, version, ...origin }: CheckIn,
): void {
  const network = new Int32Array(NETWORK_WORDS);
  buffer.add(internContext(origin), internVersion(version), deviceId, at, labels, network);
}
