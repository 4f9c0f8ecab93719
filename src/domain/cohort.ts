// Staged roll-out: which devices are in at n percent. A device's bucket in a release is a hash of both,
// so it is the same on every node, uniform over devices and independent between releases. Raising the
// percentage raises a threshold over fixed buckets, so nobody ever drops out.

/** A percentage point is 100 buckets. */
export const COHORT_BUCKETS = 10_000;

/**
 * The bucket, 0 to 9,999, of a device in a release. Both arguments come from `hashText`: the device is
 * hashed once per request and the release once per catalog, and this only mixes the two.
 */
export function cohortBucket(deviceHash: number, releaseSeed: number): number {
  // Multiply-shift instead of modulo: exact below 2^53, and without modulo's bias.
  return Math.floor((finalMix(deviceHash ^ releaseSeed) * COHORT_BUCKETS) / 0x1_0000_0000);
}

/** Buckets below this number are in: 0 % is nobody, 100 % is everybody. */
export function cohortThreshold(rolloutPct: number): number {
  return rolloutPct * (COHORT_BUCKETS / 100);
}

/**
 * MurmurHash3 x86 32-bit of the text's UTF-8 bytes, as an unsigned 32-bit integer.
 * Algorithm: Austin Appleby's MurmurHash3 (public domain); checked against its published vectors.
 */
export function hashText(text: string, seed = 0): number {
  // Device ids are UUIDs: their char codes are their bytes. One pass finds out and hashes.
  return hashAscii(text, seed) ?? hashBytes(Buffer.from(text, 'utf8'), seed);
}

const ASCII_MAX = 0x7f;
const C1 = 0xcc9e2d51;
const C2 = 0x1b873593;

/** The same hash over raw bytes. */
export function hashBytes(bytes: Uint8Array, seed = 0): number {
  let hash = seed | 0;
  const whole = bytes.length & ~3;
  for (let i = 0; i < whole; i += 4) {
    hash = mixBlock(
      hash,
      at(bytes, i) | (at(bytes, i + 1) << 8) | (at(bytes, i + 2) << 16) | (at(bytes, i + 3) << 24),
    );
  }
  let tail = 0;
  for (let i = bytes.length - 1; i >= whole; i--) tail = (tail << 8) | at(bytes, i);
  return finish(hash, tail, bytes.length);
}

/** The same hash of a text that is ASCII; undefined when it is not. */
export function hashAscii(text: string, seed = 0): number | undefined {
  let hash = seed | 0;
  let seen = 0;
  const whole = text.length & ~3;
  for (let i = 0; i < whole; i += 4) {
    const a = text.charCodeAt(i);
    const b = text.charCodeAt(i + 1);
    const c = text.charCodeAt(i + 2);
    const d = text.charCodeAt(i + 3);
    seen |= a | b | c | d;
    hash = mixBlock(hash, a | (b << 8) | (c << 16) | (d << 24));
  }
  let tail = 0;
  for (let i = text.length - 1; i >= whole; i--) {
    const code = text.charCodeAt(i);
    seen |= code;
    tail = (tail << 8) | code;
  }
  return seen > ASCII_MAX ? undefined : finish(hash, tail, text.length);
}

function at(bytes: Uint8Array, index: number): number {
  return bytes[index] as number;
}

function scramble(block: number): number {
  const k = Math.imul(block, C1);
  return Math.imul((k << 15) | (k >>> 17), C2);
}

function mixBlock(hash: number, block: number): number {
  const h = hash ^ scramble(block);
  return (Math.imul((h << 13) | (h >>> 19), 5) + 0xe6546b64) | 0;
}

function finish(hash: number, tail: number, length: number): number {
  return finalMix(hash ^ scramble(tail) ^ length);
}

/** MurmurHash3's finaliser: a bijection on 32 bits in which every input bit moves every output bit. */
function finalMix(value: number): number {
  let h = value ^ (value >>> 16);
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
