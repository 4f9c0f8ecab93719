// Tests new identifiers.

import { expect, test } from 'vitest';
import { newId } from '../../../src/store/ledger/database/columns.ts';

test('an id is its prefix and 26 characters of lower-case Crockford base32', () => {
  for (let index = 0; index < 100; index++) {
    expect(newId('rel')).toMatch(/^rel_[0-7][0-9a-hjkmnp-tv-z]{25}$/);
  }
});

test('ids sort by the time they were made at, and differ within it', () => {
  const times = [0, 1, 31, 32, 1023, 1_767_225_600_000, 1_767_225_600_001, 2 ** 48 - 1];
  const ids = times.map((time) => newId('app', time));
  expect([...ids].sort()).toEqual(ids);
  expect(new Set(Array.from({ length: 1000 }, () => newId('app', 5))).size).toBe(1000);
});

test('the time is spelled as ULIDs spell it', () => {
  // 01ARYZ6S41TSV4RRFFQ69G5FAV, the example that ULID implementations share.
  expect(newId('app', 1_469_918_176_385)).toMatch(/^app_01aryz6s41/);
});
