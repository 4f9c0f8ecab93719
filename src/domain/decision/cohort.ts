// Staged rollout: which devices are in the cohort of a release at n percent. The bucket of a device is a hash
// of the device and the release, so it is the same on every node, uniform over devices and independent
// between releases. A higher percentage raises a threshold over fixed buckets, so no device ever drops out.

import { utf8WordsOf } from './hashes.ts';

/** Number of buckets: 100 for each percentage point. */
export const COHORT_BUCKETS = 10_000;

/**
 * Returns the bucket, 0 to 9,999, of a device in a release. Both arguments come from `hashText`: callers hash
 * the device id once per request and the release id once per catalog; only the two hashes are mixed here.
 */
export function cohortBucket(deviceHash: number, releaseSeed: number): number {
  // Multiply-shift instead of modulo: exact below 2^53, and without modulo's bias.
  return Math.floor((finalMix(deviceHash ^ releaseSeed) * COHORT_BUCKETS) / 0x1_0000_0000);
}

/** Number of slices of a fleet, for clients whose decisions are cached per slice. */
export const SLICES = 100;

/**
 * Returns the slice, 0 to 99, of a device from `hashText` of its id. Clients compute it too (docs/contract.md
 * 28.3), so it may never change.
 */
export function deviceSlice(deviceHash: number): number {
  return Math.floor((deviceHash * SLICES) / 0x1_0000_0000);
}

/** Returns the number of buckets in the cohort, from bucket 0 on: none at 0 %, all at 100 %. */
export function cohortThreshold(rolloutPct: number): number {
  return rolloutPct * (COHORT_BUCKETS / 100);
}

/**
 * MurmurHash3 x86 32-bit of the text's UTF-8 bytes, as an unsigned 32-bit integer. Algorithm: Austin Appleby
 * (public domain); a test checks it against the published vectors.
 */
export function hashText(text: string, seed = 0): number {
  const { words, wordCount, byteLength } = utf8WordsOf(text);
  const whole = byteLength >> 2;
  let hash = seed | 0;
  for (let index = 0; index < whole; index++) hash = mixBlock(hash, words[index] as number);
  if (whole < wordCount) hash ^= scramble(words[whole] as number);
  return finalMix(hash ^ byteLength);
}

const C1 = 0xcc9e2d51;
const C2 = 0x1b873593;

function scramble(block: number): number {
  const k = Math.imul(block, C1);
  return Math.imul((k << 15) | (k >>> 17), C2);
}

function mixBlock(hash: number, block: number): number {
  const h = hash ^ scramble(block);
  return (Math.imul((h << 13) | (h >>> 19), 5) + 0xe6546b64) | 0;
}

/** Finaliser of MurmurHash3: a bijection on 32 bits in which every input bit affects every output bit. */
function finalMix(value: number): number {
  let h = value ^ (value >>> 16);
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
