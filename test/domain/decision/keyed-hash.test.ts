// Tests the keyed hash against the first test vectors of its authors' reference code (vectors_hsip64): the
// bytes 0, 1, 2 … under the key 0 to 7.

import { expect, it } from 'vitest';
import { keyedHash } from '../../../src/domain/decision/hashes.ts';

const KEY_WORDS = 2;
const VECTORS = ['218d1f59b9b83cc8', 'be552412f8387315', '064f39ef7c50eb57', 'ce0f1a45f7060679'];

function hashOf(text: string, key: Int32Array): string {
  const hash = new Int32Array(2);
  keyedHash(text, key, hash);
  return Buffer.from(hash.buffer).toString('hex');
}

it.each([...VECTORS.entries()])(
  'of %i bytes is %s, as in the reference code',
  (length, expected) => {
    const text = String.fromCharCode(...Array.from({ length }, (_, index) => index));
    expect(hashOf(text, new Int32Array([0x0302_0100, 0x0706_0504]))).toBe(expected);
  },
);

it('depends on every word of the key, on every character and on the length', () => {
  const keys = Array.from({ length: KEY_WORDS + 1 }, (_, word) => {
    const key = new Int32Array(KEY_WORDS);
    if (word < KEY_WORDS) key[word] = 1;
    return key;
  });
  const texts = ['', '\0', '\0\0\0\0', 'device-1', 'device-2', 'xevice-1', 'ππ'];
  const hashes = keys.flatMap((key) => texts.map((text) => hashOf(text, key)));
  expect(new Set(hashes).size).toBe(keys.length * texts.length);
});
