// A second 32-bit hash of a text, independent of `hashText`. Where two texts must not be confused, both
// hashes together identify a text: with 64 bits the odds that any two of a million texts collide are 1 in 37
// million, while 32 bits alone would give about a hundred collisions.

import { utf8WordsOf } from './utf8-words.ts';

const SCRAMBLE = 0x9e3779b1;
const MIX_1 = 0x21f0aaad;
const MIX_2 = 0x735a2d97;

/**
 * Returns an unsigned 32-bit hash of the text's UTF-8 bytes. It is stable across processes and versions of
 * Sluice, because processes identify a device to each other by it. It is not cryptographic: collisions can be
 * constructed.
 */
export function secondHash(text: string, seed = 0): number {
  const { words, wordCount, byteLength } = utf8WordsOf(text);
  let hash = Math.imul(seed ^ byteLength, SCRAMBLE);
  for (let index = 0; index < wordCount; index++) {
    hash = Math.imul(hash ^ (words[index] as number), SCRAMBLE);
    hash ^= hash >>> 15;
  }
  // The finaliser "lowbias32" of Chris Wellons (public domain): not that of `hashText`.
  hash = Math.imul(hash ^ (hash >>> 16), MIX_1);
  hash = Math.imul(hash ^ (hash >>> 15), MIX_2);
  return (hash ^ (hash >>> 15)) >>> 0;
}
