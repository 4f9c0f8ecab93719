// Tests which labels a device may carry (docs/contract.md 8, 13.13 and 13.14).

import { describe, expect, it } from 'vitest';
import {
  countingLabels,
  mergeLabels,
  refuseLabel,
  timedOf,
} from '../../../src/domain/fleet/labels.ts';

describe('a label is refused with 400 and the path of the field', () => {
  it.each([
    ['an empty key', '', 'a'],
    ['a key that begins with $, which marks the reserved fields', '$version', 'a'],
    ['a key over 128 characters', 'k'.repeat(129), 'a'],
    ['a value over 256 characters', 'tier', 'v'.repeat(257)],
    ['a key of one character too many, each of two UTF-16 units', '🚀'.repeat(129), 'a'],
    ['a value of one character too many', 'tier', `${'🚀'.repeat(256)}a`],
  ])('%s', (_what, key, value) => {
    const refusal = refuseLabel('devices.3.labels', key, value);
    expect(refusal?.failure).toBe('invalid');
    expect(refusal?.message).toMatch(/^devices\.3\.labels: \S/);
  });
});

describe('a label is accepted', () => {
  it.each([
    ['a key of 128 characters', 'k'.repeat(128), 'a'],
    ['a value of 256 characters', 'tier', 'v'.repeat(256)],
    ['an empty value', 'tier', ''],
    ['a $ anywhere but at the beginning', 'a$version', '$'],
    ['a key named like an object member', '__proto__', 'a'],
    ['a dotted key', 'a.b.c', 'a'],
    ['lengths counted in characters, not UTF-16 units', '🚀'.repeat(128), '🚀'.repeat(256)],
  ])('%s', (_what, key, value) => {
    expect(refuseLabel('l', key, value)).toBeUndefined();
  });
});

describe('the labels that count', () => {
  const stored = timedOf(Array.from({ length: 16 }, (_, at) => [`k${10 + at}`, 'stored', 5]));

  it('are the stored ones, and over them what was noted later', () => {
    const two = timedOf([
      ['ring', 'stored', 5],
      ['site', 'stored', 5],
    ]);
    const notes = timedOf([
      ['ring', 'noted', 6],
      ['site', 'noted', 4],
    ]);
    expect(countingLabels(two, notes)).toEqual(
      new Map(Object.entries({ ring: 'noted', site: 'stored' })),
    );
    expect(countingLabels(two, undefined)).toBe(two.labels);
  });

  it('are 16: those of the newest write, then those that come first by their key', () => {
    const notes = timedOf([
      ['z', 'newest', 7],
      ['a', 'noted', 6],
      ['y', 'noted', 6],
    ]);
    const kept = Array.from({ length: 14 }, (_, at) => `k${10 + at}`);
    expect([...countingLabels(stored, notes).keys()]).toEqual(['z', 'a', ...kept]);
  });
});

it('of merged labels 16 are kept: the newer keys, then the stored ones in key order (§13.14)', () => {
  const numbered = (prefix: string, count: number): [string, string][] =>
    Array.from({ length: count }, (_, at) => [`${prefix}${10 + at}`, prefix]);
  const stored = numbered('k', 16);
  const fifteen = numbered('k', 15);
  for (const [newer, expected] of [
    [[], stored],
    [[['z', 'new']], [...fifteen, ['z', 'new']]],
    [[['a', 'new']], [...fifteen, ['a', 'new']]],
    [[['k25', 'new']], [...fifteen, ['k25', 'new']]],
    [numbered('z', 16), numbered('z', 16)],
  ] as [[string, string][], [string, string][]][]) {
    expect(mergeLabels(new Map(stored), new Map(newer))).toEqual(new Map(expected));
  }
});
