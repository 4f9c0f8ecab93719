// MurmurHash3 x86 32-bit, written byte by byte from its description, with which the product's faster one is
// compared.

/** The hash of raw bytes as an unsigned 32-bit integer. */
export function murmur3(bytes: Uint8Array, seed: number): number {
  let hash = seed | 0;
  for (let at = 0; at < bytes.length; at += 4) {
    const block = bytes.slice(at, at + 4);
    const value = block.reduce((sum, byte, place) => sum | (byte << (8 * place)), 0);
    hash ^= Math.imul(rotate(Math.imul(value, 0xcc9e2d51), 15), 0x1b873593);
    if (block.length === 4) hash = (Math.imul(rotate(hash, 13), 5) + 0xe6546b64) | 0;
  }
  hash ^= bytes.length;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

function rotate(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}
