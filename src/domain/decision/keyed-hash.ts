// HalfSipHash-2-4 with 64 bits (Aumasson, Bernstein; the authors' reference code): a hash of a text that only
// who knows the key can foresee. For tables of what strangers choose: they cannot construct two texts that a
// table takes for one. The other hashes here are faster and not made for that.

import { utf8WordsOf } from './utf8-words.ts';

/** The four words of the state, between two texts without meaning. */
let [v0, v1, v2, v3] = [0, 0, 0, 0];

/**
 * Writes the hash of a text's UTF-8 bytes under a key of two words into the first two words of `into`.
 */
export function keyedHash(text: string, key: Int32Array, into: Int32Array): void {
  const { words, wordCount, byteLength } = utf8WordsOf(text);
  const [low = 0, high = 0] = key;
  [v0, v1, v2, v3] = [low, high ^ 0xee, 0x6c796765 ^ low, 0x74656462 ^ high];
  // The last block holds the length and the bytes that fill no whole word, which end in zeros.
  const wholeWords = byteLength >>> 2;
  for (let index = 0; index < wholeWords; index++) compress(words[index] as number);
  const rest = wholeWords < wordCount ? (words[wholeWords] as number) : 0;
  compress(rest | (byteLength << 24));
  v2 ^= 0xee;
  finish();
  into[0] = v1 ^ v3;
  v1 ^= 0xdd;
  finish();
  into[1] = v1 ^ v3;
}

function compress(block: number): void {
  v3 ^= block;
  mix();
  mix();
  v0 ^= block;
}

function finish(): void {
  mix();
  mix();
  mix();
  mix();
}

function mix(): void {
  v0 = (v0 + v1) | 0;
  v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
  v0 = (v0 << 16) | (v0 >>> 16);
  v2 = (v2 + v3) | 0;
  v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
  v0 = (v0 + v3) | 0;
  v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
  v2 = (v2 + v1) | 0;
  v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
  v2 = (v2 << 16) | (v2 >>> 16);
}
