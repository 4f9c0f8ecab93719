// Tests what a `+` in a query is: form decoding reads it as a space, and clients that do not encode mean it.
// Where no space can stand, in versions and formats, it is a `+` (docs/contract.md 1.8).

import { expect, it } from 'vitest';
import { isFailure } from '../../src/contract/failure.ts';
import { readRequestQuery } from '../../src/http/device/request-query.ts';
import { explainInput, explainQuery } from '../../src/http/endpoint/fleet-body.ts';
import { parseShape } from '../../src/http/endpoint/parse-shape.ts';
import { readListQuery, releaseQuery } from '../../src/http/endpoint/release-body.ts';

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
