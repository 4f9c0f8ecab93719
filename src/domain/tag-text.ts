// A second hash of a text, independent of `hashText`. Where two texts must not be taken for one another, the
// two hashes together are the name: 64 bits, so that among a million texts the odds of a pair are 1 in 37
// million, where 32 bits alone would have some hundred pairs.

import { wordsOf } from './text-words.ts';

const SCRAMBLE = 0x9e3779b1;
const MIX_1 = 0x21f0aaad;
const MIX_2 = 0x735a2d97;

/**
 * An unsigned 32-bit hash of the text's UTF-8 bytes. The same in every process and version, because processes
 * name a device to each other by it. Not for secrets: whoever wants a collision finds one.
 */
export function tagText(text: string, seed = 0): number {
  const { words, wordCount, byteLength } = wordsOf(text);
  let tag = Math.imul(seed ^ byteLength, SCRAMBLE);
  for (let index = 0; index < wordCount; index++) {
    tag = Math.imul(tag ^ (words[index] as number), SCRAMBLE);
    tag ^= tag >>> 15;
  }
  // The finaliser "lowbias32" of Chris Wellons (public domain): not that of `hashText`.
  tag = Math.imul(tag ^ (tag >>> 16), MIX_1);
  tag = Math.imul(tag ^ (tag >>> 15), MIX_2);
  return (tag ^ (tag >>> 15)) >>> 0;
}
