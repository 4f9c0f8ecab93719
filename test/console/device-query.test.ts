// Tests what the search of devices asks for, and the filter that a page's query stands for.

import { describe, expect, it } from 'vitest';
import { readLine, readSearch } from '../../src/console/fleet/device-query.ts';

it.each([
  ['0001e032-', { id: '0001e032-' }],
  [' e032 ', { id: 'e032' }],
  ['ring=early', { label: 'ring=early' }],
  ['ring=', { label: 'ring=' }],
  ['=x', { id: '=x' }],
  ['2.0.0', { version: '2.0.0' }],
  ['v2.1-rc.1', { version: 'v2.1-rc.1' }],
  // A number alone is more often part of an id.
  ['2', { id: '2' }],
  ['<1.2', { below: '1.2' }],
  ['< 1.2.0', { below: '1.2.0' }],
  ['<x', { id: '<x' }],
])('%j asks for %j', (text, asked) => {
  expect(readLine(text)).toEqual(asked);
});

describe('a query', () => {
  const NONE = { release: '', signal: undefined, isFiltered: false, isWhole: true };

  it.each([
    [{}, NONE],
    [{ id: 'e' }, { ...NONE, isFiltered: true }],
    [{ signal: 'unheard of' }, { ...NONE, isFiltered: true }],
    [{ signal: 'stuck' }, { ...NONE, signal: 'stuck', isFiltered: true, isWhole: false }],
    [
      { signal: 'stuck', release: '1.0.0' },
      { release: '1.0.0', signal: 'stuck', isFiltered: true, isWhole: false },
    ],
    [
      { signal: 'stuck', release: '1.0.0', channel: 'stable' },
      { release: '1.0.0', signal: 'stuck', isFiltered: true, isWhole: true },
    ],
  ])('%j: a signal is one of a release', (query, read) => {
    expect(readSearch(query)).toMatchObject(read);
  });

  it('is a filter as the service has it, since whole minutes', () => {
    const { filter } = readSearch({ version: '1.0.0', moved: '', seen: 'hour' });
    expect(filter).toMatchObject({ version: '1.0.0', moved: undefined });
    const since = filter.seenSince ?? '';
    expect(since).toMatch(/:00\.000Z$/);
    const ageMs = Date.now() - Date.parse(since);
    expect(ageMs).toBeGreaterThanOrEqual(3_600_000);
    expect(ageMs).toBeLessThan(3_720_000);
    expect(readSearch({ seen: 'toString' }).filter.seenSince).toBeUndefined();
  });
});
