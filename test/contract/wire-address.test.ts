// Tests how addresses are written for clients.

import { expect, it } from 'vitest';
import { wireAddress } from '../../src/contract/address.ts';

it.each([
  ['https://dl.example.com/a?x=1&y=%20#z', 'https://dl.example.com/a?x=1&y=%20#z'],
  ['HTTPS://DL.example.com', 'HTTPS://DL.example.com'],
  ['https://münchen.example:81/Größe', 'https://xn--mnchen-3ya.example:81/Gr%C3%B6%C3%9Fe'],
  ['https://a.example/"<>^`{|}', 'https://a.example/%22%3C%3E%5E%60%7B%7C%7D'],
  ['https://a.example/\u202eexe?q=\\', 'https://a.example/%E2%80%AEexe?q=%5C'],
])('%s', (given, written) => {
  expect(wireAddress(given)).toBe(written);
});
