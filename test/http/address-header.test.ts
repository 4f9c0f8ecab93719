// Tests how an address stands in a header: addresses that were stored before what they may hold was looked at
// must not change the answer that they are in.

import { expect, it } from 'vitest';
import { addressHeader } from '../../src/http/device/address-header.ts';

it.each([
  ['https://dl.example.com/a%20b?c=d&e=%20#f', 'https://dl.example.com/a%20b?c=d&e=%20#f'],
  ['https://dl.example.com/\r\nSet-Cookie:x', 'https://dl.example.com/%0D%0ASet-Cookie:x'],
  ['https://dl.example.com/\u0001\u001b\u007f\u009b', 'https://dl.example.com/%01%1B%7F%C2%9B'],
  [
    'https://dl.example.com/größe\u202e\u{1f680}',
    'https://dl.example.com/gr%C3%B6%C3%9Fe%E2%80%AE%F0%9F%9A%80',
  ],
  ['https://dl.example.com/\ud800', 'https://dl.example.com/%EF%BF%BD'],
])('%j', (url, text) => {
  expect(addressHeader(url)).toEqual(['Location', text]);
});
