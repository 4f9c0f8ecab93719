// Tests that the words of a text are its UTF-8 bytes, whatever text was read before it.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { utf8WordsOf } from '../../../src/domain/decision/hashes.ts';

/** Returns the bytes in the words of a text, and the padding of the last word. */
function bytesOf(text: string): { bytes: Buffer; padding: Buffer; isAscii: boolean } {
  const { words, wordCount, byteLength, isAscii } = utf8WordsOf(text);
  const all = Buffer.from(words.buffer, 0, wordCount * 4);
  return {
    bytes: Buffer.from(all.subarray(0, byteLength)),
    padding: Buffer.from(all.subarray(byteLength)),
    isAscii,
  };
}

function expectUtf8(text: string): void {
  const { bytes, padding, isAscii } = bytesOf(text);
  expect(bytes.toString('hex')).toBe(Buffer.from(text, 'utf8').toString('hex'));
  expect(padding.every((byte) => byte === 0) && padding.length < 4).toBe(true);
  expect(isAscii).toBe(bytes.length === text.length && bytes.every((byte) => byte < 0x80));
}

const anyText = fc.oneof(
  fc.string({ unit: 'binary-ascii', maxLength: 140 }),
  fc.string({ unit: 'binary', maxLength: 40 }),
);

describe('the words of a text', () => {
  it('are its UTF-8 with zeros up to a whole word, after any other texts', () => {
    fc.assert(
      fc.property(fc.array(anyText, { minLength: 1, maxLength: 6 }), (texts) => {
        for (const text of texts) expectUtf8(text);
      }),
    );
  });

  it.each([
    ['nothing', ''],
    ['one character', 'a'],
    ['longer than any id', 'x'.repeat(70_001)],
    ['longer than any id, and not ASCII', 'ππ-'.repeat(30_000)],
    ['not ASCII from its last character on', `${'a'.repeat(35)}ü`],
    ['half a surrogate pair', 'a\ud800'],
  ])('of %s', (_, text) => {
    expectUtf8('something else');
    if (text !== 'a\ud800') expectUtf8(text);
    else expect(bytesOf(text).bytes.toString('utf8')).toBe('a\ufffd');
    expectUtf8('something else');
  });

  it('are found again for an equal text that is another string', () => {
    const id = 'device-1';
    const before = bytesOf(id);
    expect(bytesOf(Buffer.from(id).toString())).toEqual(before);
  });
});
