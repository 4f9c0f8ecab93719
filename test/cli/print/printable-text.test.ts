// Tests how values are shown on a terminal: what it would obey, and what turns the text around it, is
// escaped.

import { expect, it } from 'vitest';
import { printableText } from '../../../src/cli/print/print-answer.ts';

it.each([
  ['plain text', 'Größe & Söhne 日本 \u{1f680}', 'Größe & Söhne 日本 \u{1f680}'],
  [
    'control characters',
    'a\u0000\t\n\r\u001b\u007f\u009bz',
    'a\\u0000\\u0009\\u000a\\u000d\\u001b\\u007f\\u009bz',
  ],
  ['marks of direction', '\u061c\u200e\u200f', '\\u061c\\u200e\\u200f'],
  [
    'overrides and isolates',
    '\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069',
    '\\u202a\\u202b\\u202c\\u202d\\u202e\\u2066\\u2067\\u2068\\u2069',
  ],
  ['other line breaks', 'a\u2028b\u2029c', 'a\\u2028b\\u2029c'],
  [
    'values',
    { name: 'a\u202eb', list: [1, '\u001b'] },
    '{"name":"a\\u202eb","list":[1,"\\u001b"]}',
  ],
  ['nothing', undefined, ''],
])('%s', (_, value, text) => {
  expect(printableText(value)).toBe(text);
});
