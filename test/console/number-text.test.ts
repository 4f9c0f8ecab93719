// Tests numbers as the console writes them.

import { describe, expect, it } from 'vitest';
import {
  bytesText,
  countText,
  numberText,
  shareText,
} from '../../src/console/format/figure-text.ts';

describe('a number', () => {
  it('is grouped', () => {
    expect(numberText(1234567).replace(/\D/g, '')).toBe('1234567');
    expect(numberText(1234567)).not.toBe('1234567');
  });

  it('counts one thing in the singular, none and many in the plural', () => {
    expect([0, 1, 2].map((count) => countText(count, 'device'))).toEqual([
      '0 devices',
      '1 device',
      '2 devices',
    ]);
  });
});

describe('a share', () => {
  it.each([
    [0, 10, '0%'],
    [1, 8, '12.5%'],
    [10, 10, '100%'],
    [1, 1_000_000, '<0.1%'],
    [999_999, 1_000_000, '>99.9%'],
    [0, 0, '–'],
  ])(
    '%i of %i is %s: some is never shown as none, nearly all never as all',
    (part, whole, text) => {
      expect(shareText(part, whole)).toBe(text);
    },
  );
});

describe('a size', () => {
  it.each([
    [1, '1 byte'],
    [999, '999 bytes'],
    [1500, '1.5 kB'],
    [12_300_000, '12.3 MB'],
  ])('%i bytes read %s', (bytes, text) => {
    expect(bytesText(bytes)).toBe(text);
  });
});
