// Tests how queries are read: that of the release list, in which nothing is refused, for what makes no sense
// is the default and what no name can be finds nothing (docs/contract.md 12); and what a `+` is. Form
// decoding reads it as a space, and clients that do not encode mean it: where no space can stand, in versions
// and formats, it is a `+` (docs/contract.md 1.8).

import { expect, it } from 'vitest';
import { isFailure } from '../../src/contract/failure.ts';
import { readRequestQuery } from '../../src/http/device/request-query.ts';
import { explainInput, explainQuery } from '../../src/http/endpoint/fleet-body.ts';
import { parseShape } from '../../src/http/endpoint/parse-shape.ts';
import { readListQuery, releaseQuery } from '../../src/http/endpoint/release-body.ts';

const NOBODY = '\ufffd';

it.each<[query: string, read: object]>([
  ['', { page: 1, perPage: 20, standing: false, app: undefined, version: undefined }],
  ...['', 'some', 'NaN'].map((size): [string, object] => [`per_page=${size}`, { perPage: 20 }]),
  ...[1, 7, 99, 100].map((size): [string, object] => [`per_page=${size}`, { perPage: size }]),
  ...['0', '-5'].map((size): [string, object] => [`per_page=${size}`, { perPage: 1 }]),
  ...['101', '1e20'].map((size): [string, object] => [`per_page=${size}`, { perPage: 100 }]),
  ...['', '1', '0', '-1', '-99999999999', 'x', 'NaN'].map((page): [string, object] => [
    ...([`page=${page}`, { page: 1 }] as const),
  ]),
  // A page far beyond the last stays one that a database can skip to.
  ...['99999999999999999999', '1e400', '9007199254740993', '2147483648'].map(
    (page): [string, object] => [`page=${page}`, { page: 1_000_000_000 }],
  ),
  ...['', '1', 'false', 'true'].map((asked): [string, object] => [
    ...([`standing=${asked}`, { standing: asked === 'true' }] as const),
  ]),
  ['version=v1.2', { version: '1.2.0' }],
  ['version=one', { version: 'one' }],
  ['version=', { version: undefined }],
])('the release list by %j is %j', (query, read) => {
  expect(readListQuery(query)).toMatchObject(read);
});

it('a filter by app, channel or status is a name; what no name can be finds nobody', () => {
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

const KNOWN = { parameters: ['localVersion', 'id'] };
/** Spellings of `1.0.0+4` in a query: as it is, and encoded. */
const SPELLINGS = ['1.0.0+4', '1.0.0%2B4', '1.0.0%2b4', '%31.0.0+4'];

function expectValue<Value>(outcome: Value): Exclude<Value, { readonly failure: unknown }> {
  if (isFailure(outcome)) throw new Error(outcome.message);
  return outcome as Exclude<Value, { readonly failure: unknown }>;
}

it.each(SPELLINGS)('an updater reads its own parameters so: localVersion=%s (§1.8)', (text) => {
  for (const query of [`localVersion=${text}`, `a=b&local%56ersion=${text}&id=x`]) {
    const { parameters } = expectValue(readRequestQuery(query, KNOWN));
    expect(parameters.get('localVersion')).toBe('1.0.0+4');
  }
});

it.each(SPELLINGS)('so does the management API: version=%s (§1.8)', (text) => {
  expect(readListQuery(`version=${text}`).version).toBe('1.0.0+4');
  const plan = Object.fromEntries(new URLSearchParams(`app=a&channel=b&version=${text}`));
  expect(expectValue(parseShape(releaseQuery, plan)).version).toBe('1.0.0+4');
  const input = explainInput(`app=a&version=${text}`);
  expect(expectValue(parseShape(explainQuery, input)).version).toBe('1.0.0+4');
});

it('in labels and ids, which may have spaces, it is a space (§1.8)', () => {
  const query = 'l.site=North+Hall&device=a+b%2Bc&localVersion=1+2';
  const { labels, deviceId } = expectValue(readRequestQuery(query, KNOWN));
  expect([labels.get('site'), deviceId]).toEqual(['North Hall', 'a b+c']);
});
