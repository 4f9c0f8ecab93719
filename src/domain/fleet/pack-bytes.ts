// Size of packed check-ins in memory, for queues that are bounded by it.

import type { CheckInPack } from './check-in-pack.ts';

/** Bytes of a pack beside its check-ins: the objects that it consists of. */
const PACK_BYTES = 512;
/** Bytes of a label beside its two texts: its place in a map, and the texts' own heads. */
const LABEL_BYTES = 64;
const BYTES_PER_CHARACTER_MAX = 2;

/**
 * Returns how many bytes a pack takes, about: its rows, and the labels, of which each check-in has its own.
 * Values that check-ins share are kept once for all packs, and are not counted.
 */
export function packBytes({ rows, networks, labels }: CheckInPack): number {
  let bytes = PACK_BYTES + rows.byteLength + networks.byteLength;
  for (const ofDevice of labels.values()) {
    for (const [key, value] of ofDevice) {
      bytes += LABEL_BYTES + (key.length + value.length) * BYTES_PER_CHARACTER_MAX;
    }
  }
  return bytes;
}
