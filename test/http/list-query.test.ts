// Tests the query of the release list, in which nothing is refused: what makes no sense is the default, and
// what no name can be finds nothing (docs/contract.md 12).

import { describe, expect, it } from 'vitest';
import { readListQuery } from '../../src/http/endpoint/release-body.ts';

const NOBODY = '\ufffd';

it('per_page is 20 by default and clamped to 1..100', () => {
  const sizes = {
    ...{ '': 20, 'per_page=': 20, 'per_page=some': 20, 'per_page=NaN': 20, 'per_page=1': 1 },
    ...{ 'per_page=7': 7, 'per_page=99': 99, 'per_page=100': 100, 'per_page=101': 100 },
    ...{ 'per_page=100000000000000000000': 100, 'per_page=0': 1, 'per_page=-5': 1 },
  };
  for (const [query, size] of Object.entries(sizes)) {
    expect([query, readListQuery(query).perPage]).toEqual([query, size]);
  }
});

it.each([
  ...['', 'page=', 'page=1', 'page=0', 'page=-1', 'page=-99999999999', 'page=x', 'page=NaN'],
])('a page below 1 or not a number is 1: %j', (query) => {
  expect(readListQuery(query).page).toBe(1);
});

it.each(['99999999999999999999', '1e400', '9007199254740993', '2147483648'])(
  'a page far beyond the last stays one that a database can skip to: %s',
  (page) => {
    expect(readListQuery(`page=${page}`).page).toBe(1_000_000_000);
  },
);

it('standings are for those who ask for them', () => {
  const asked = ['', 'standing=', 'standing=1', 'standing=false', 'standing=true'];
  const given = asked.map((query) => readListQuery(query).standing);
  expect(given).toEqual([false, false, false, false, true]);
});

describe('a filter', () => {
  it('by app, channel or status is a name; what no name can be finds nobody', () => {
    const names = {
      ...{ 'app=notes': 'notes', 'app=': undefined, '': undefined, 'App=notes': undefined },
      ...{ 'app=%': '%', 'app=%zz': '%zz', "app=x'%20OR%20'1'='1": "x' OR '1'='1" },
      ...{ 'app=%00': NOBODY, 'app=a%00b': NOBODY, 'app=%ff': NOBODY },
      'app=%ED%A0%80': NOBODY.repeat(3),
    };
    for (const [query, name] of Object.entries(names)) {
      for (const field of ['app', 'channel', 'status'] as const) {
        const asked = query.replace('app', field);
        expect([asked, readListQuery(asked)[field]]).toEqual([asked, name]);
      }
    }
  });

  it('by version takes every spelling, and what is none stays', () => {
    expect(readListQuery('version=v1.2').version).toBe('1.2.0');
    expect(readListQuery('version=one').version).toBe('one');
    expect(readListQuery('version=').version).toBeUndefined();
  });
});
