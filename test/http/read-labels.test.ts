// Tests the reading of what a device says about itself: labels in a query string, which may have any length
// and content, and the identity header.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isFailure } from '../../src/contract/failure.ts';
import { readDeviceIdentity } from '../../src/http/device/device-gate.ts';
import { readRequestQuery } from '../../src/http/device/request-query.ts';

const LONG_BYTES = 64 * 1024;

/** Returns the labels as entries, in order, or the message of the refusal. */
function labels(query: string | undefined): [string, string][] | string {
  const read = readRequestQuery(query);
  return isFailure(read) ? read.message : [...read.labels];
}

function many(count: number, from = 0): string {
  return Array.from({ length: count }, (_, index) => `l.k${from + index}=v`).join('&');
}

describe('labels', () => {
  it.each([
    [undefined, []],
    ['', []],
    ['&', []],
    ['a=b', []],
    ['l=a&L.tier=gold&xl.tier=gold', []],
    ['l.tier=gold', [['tier', 'gold']]],
    ['l.tier=gold&l.region=eu', Object.entries({ tier: 'gold', region: 'eu' })],
    ['&&a=b&&l.tier=gold&&', [['tier', 'gold']]],
    ['l.tier', [['tier', '']]],
    ['l.tier=', [['tier', '']]],
    ['l.tier=a=b', [['tier', 'a=b']]],
    ['l.tier=a+b%20c', [['tier', 'a b c']]],
    ['l.l.tier=a', [['l.tier', 'a']]],
    ['l.tier=%zz%', [['tier', '%zz%']]],
    ['l.gr%C3%B6%C3%9Fe=%F0%9F%9A%80', [['größe', '🚀']]],
    ['l.__proto__=x', [['__proto__', 'x']]],
    ['l.a=x%26l.b=y', [['a', 'x&l.b=y']]],
    // Of a repeated key the last value counts, however it is written.
    ['l.tier=a&l.tier=b&l%2Etier=c', [['tier', 'c']]],
  ])('of %j are %j', (query, expected) => {
    expect(labels(query)).toEqual(expected);
  });

  it.each(['l%2Etier', 'l%2etier', '%6C.tier', '%6c.tier', '%6C%2Etier', 'l.%74ier'])(
    'are found behind a percent-encoded name: %s',
    (name) => {
      for (const before of ['', 'a=b&']) {
        expect(labels(`${before}${name}=gold`)).toEqual([['tier', 'gold']]);
      }
    },
  );

  it.each([
    ...['%6D.tier=x', 'l%2Dtier=x', '%', '%%', 'a%', 'l%', '%6', '%2E=x', '?l.tier=x'],
    '?%6C.tier=x',
  ])('are not seen where there are none: %s', (parameter) => {
    for (const after of ['', '&c=d']) expect(labels(`a=b&${parameter}${after}`)).toEqual([]);
  });

  it('are counted by key: sixteen are taken, repeated ones are free, the seventeenth is refused', () => {
    expect(labels(many(16))).toHaveLength(16);
    expect(labels(`${many(16)}&${many(16)}&l.k0=w`)).toHaveLength(16);
    expect(labels(many(17))).toBe('l: At most 16 labels');
    expect(labels(`${many(17)}&l.=x`)).toBe('l: At most 16 labels');
  });

  it('are refused at the first that must not be, whatever follows', () => {
    const empty = 'l.: Label key must not be empty';
    expect(labels('l.=x')).toBe(empty);
    expect(labels(`l.=x&l.$version=1&${many(17)}`)).toBe(empty);
    expect(labels('l.$version=1&l.=x')).toBe('l.$version: Label key must not begin with $');
    expect(labels('l.a=%00&l.=x')).toBe('l.a: Must not contain NUL or broken characters');
  });

  it('have bounded keys and values, counted in characters', () => {
    expect(labels(`l.${'🚀'.repeat(128)}=${'🚀'.repeat(256)}`)).toHaveLength(1);
    expect(labels(`l.${'k'.repeat(129)}=v`)).toContain('Label key must be at most 128 characters');
    expect(labels(`l.k=${'v'.repeat(257)}`)).toBe('l.k: Must be at most 256 characters');
  });

  it('are found at the end of 64 KiB of anything else, and refused at the beginning', () => {
    for (const filler of ['a&', '&', 'a=b&', 'l&', '%&', '%6&', '.&']) {
      const query = filler.repeat(LONG_BYTES / filler.length);
      expect(labels(`${query}l.tier=gold`)).toEqual([['tier', 'gold']]);
    }
    const repeated = 'l.a=b&'.repeat(LONG_BYTES / 6);
    expect(labels(repeated)).toEqual([['a', 'b']]);
    expect(labels(`l.=x&${repeated}`)).toBe('l.: Label key must not be empty');
    expect(labels(`l.a=${'x'.repeat(LONG_BYTES)}`)).toBe('l.a: Must be at most 256 characters');
  });

  it('are those that the whole query parsed at once would have', () => {
    const piece = fc.constantFrom('l.', 'l', '.', '%6C', '%2E', '%', '=', '&', 'a', 'b', '+', '?');
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
        const query = pieces.join('');
        const read = readRequestQuery(query);
        if (isFailure(read)) return;
        // `URLSearchParams` drops a leading question mark; a leading `x&` prevents that.
        const all = [...new URLSearchParams(`x&${query}`)].filter(([name]) => /^l\./.test(name));
        const expected = all.map(([name, value]) => [name.slice(2), value] as const);
        expect(new Map(read.labels)).toEqual(new Map(expected));
      }),
    );
  });
});

describe('a device id', () => {
  it.each([
    ['', undefined],
    ['device-1', 'device-1'],
    ['a'.repeat(128), 'a'.repeat(128)],
    ['a'.repeat(129), undefined],
    // One character per byte, as the server hands them out.
    [Buffer.from('größe').toString('latin1'), 'größe'],
    [Buffer.from('🚀'.repeat(128)).toString('latin1'), '🚀'.repeat(128)],
    [Buffer.from('🚀'.repeat(129)).toString('latin1'), undefined],
  ])('in the header %j is %j', (header, id) => {
    expect(readDeviceIdentity(header)).toBe(id);
  });
});
