// Tests the difference that an audited change made, as the console shows it.

import { describe, expect, it } from 'vitest';
import { auditDifference } from '../../src/console/format/audit-log.ts';

describe('the difference of two states', () => {
  it('is only what differs, each with where it stands', () => {
    const before = { rolloutPct: 10, status: 'published', targets: { ring: ['a'] } };
    const after = { rolloutPct: 25, status: 'published', targets: { ring: ['a', 'b'] } };
    expect(auditDifference(before, after)).toEqual([
      { path: 'rolloutPct', before: '10', after: '25' },
      { path: 'targets › ring', before: 'a', after: 'a, b' },
    ]);
  });

  it('is everything there is of something new, and of something gone', () => {
    expect(auditDifference(null, { name: 'ci' })).toEqual([
      { path: 'name', before: undefined, after: 'ci' },
    ]);
    expect(auditDifference({ name: 'ci' }, null)).toEqual([
      { path: 'name', before: 'ci', after: undefined },
    ]);
  });

  it('is nothing for equal states', () => {
    expect(auditDifference({ a: [1, { b: 2 }] }, { a: [1, { b: 2 }] })).toEqual([]);
    expect(auditDifference(null, null)).toEqual([]);
  });

  it('takes a value that became another kind of value as one value', () => {
    expect(auditDifference({ a: 'x' }, { a: { b: 1 } })).toEqual([
      { path: 'a', before: 'x', after: '{"b":1}' },
    ]);
  });

  it('opens what appears or goes as a whole', () => {
    expect(auditDifference({ targets: null }, { targets: { ring: ['a'] } })).toEqual([
      { path: 'targets › ring', before: undefined, after: 'a' },
    ]);
  });

  it('is bounded: a document of a thousand values does not become a thousand rows', () => {
    const after = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`k${index}`, 1]));
    const rows = auditDifference({}, after);
    expect(rows).toHaveLength(61);
    expect(rows.at(-1)?.path).toBe('940 more');
  });

  it('reads a key like __proto__ as a key', () => {
    const after = JSON.parse('{"__proto__":"x"}') as unknown;
    expect(auditDifference({}, after)).toEqual([
      { path: '__proto__', before: undefined, after: 'x' },
    ]);
  });
});
