// Tests that entries of an index are compared with known ones as if both had been taken apart.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareEntries } from '../../../src/store/snapshot/assemble-snapshot.ts';

it.each([
  ['nothing with nothing', '', '', 0, 0, ''],
  ['the first entries', 'a b', '', 0, 0, 'a b'],
  ['nothing left', '', 'a b', 0, 0, ''],
  ['the same', 'a b c', 'a b c', 3, 0, ''],
  ['one more at the end', 'a b c', 'a b', 2, 0, 'c'],
  ['one less at the end', 'a b', 'a b c', 2, 0, ''],
  ['one more at the beginning', 'x a b', 'a b', 0, 2, 'x'],
  ['one less at the beginning', 'b c', 'a b c', 0, 2, ''],
  ['one changed in the middle', 'a x c', 'a b c', 1, 1, 'x'],
  ['one longer in the middle', 'a bb c', 'a b c', 1, 1, 'bb'],
  ['one more of the same', 'a a a', 'a a', 2, 0, 'a'],
  ['one that was offered', 'a b* c', 'a b c', 1, 1, 'b*'],
  ['an end that only looks the same', 'a xb', 'a b', 1, 0, 'xb'],
  ['a beginning that only looks the same', 'ab c', 'a c', 0, 1, 'ab'],
])('%s', (_what, text, known, first, last, between) => {
  expect(compareEntries(text, known)).toMatchObject({ first, last, between });
});

describe('any entries', () => {
  const entries = fc.array(fc.constantFrom('a', 'b', 'bb', 'a*', 'b*', 'aab'), { maxLength: 6 });

  it('are what was known at the beginning and the end, and what is between', () => {
    fc.assert(
      fc.property(entries, entries, (now, before) => {
        const { first, last, between, instead } = compareEntries(now.join(' '), before.join(' '));
        expect(first + last).toBeLessThanOrEqual(before.length);
        expect([
          ...before.slice(0, first),
          ...(between === '' ? [] : between.split(' ')),
          ...before.slice(before.length - last),
        ]).toEqual(now);
        const gone = before.slice(first, before.length - last);
        expect(instead).toBe(gone.join(' '));
      }),
    );
  });

  it('that differ in one place have nothing else between', () => {
    fc.assert(
      fc.property(entries, entries, (head, tail) => {
        const text = [...head, 'new', ...tail].join(' ');
        const { between } = compareEntries(text, [...head, 'old', ...tail].join(' '));
        expect(between).toBe('new');
      }),
    );
  });
});
