// Tests targeting in words, and the rows in which it is edited.

import { describe, expect, it } from 'vitest';
import {
  draftObstacle,
  targetingDraft,
  targetingOf,
  targetingText,
} from '../../src/console/format/targeting.ts';
import type { Targeting } from '../../src/contract/resource.ts';

const TARGETS: Targeting = {
  matchLabels: { ring: ['a', 'b'] },
  matchExpressions: [{ key: '$version', operator: 'VersionGte', values: ['1.0.0'] }],
};

describe('the rows of a targeting', () => {
  it('stand for the same targeting again, which lacks nothing', () => {
    expect(targetingOf(targetingDraft(TARGETS))).toEqual(TARGETS);
    expect(targetingOf(targetingDraft(null))).toBeNull();
    expect(draftObstacle(targetingDraft(TARGETS))).toBeUndefined();
  });

  it('send no values with a condition that takes none', () => {
    const row = { key: 'ring', operator: 'Exists', values: ['left over'] } as const;
    expect(targetingOf({ labels: [], expressions: [row] })?.matchExpressions).toEqual([
      { key: 'ring', operator: 'Exists', values: [] },
    ]);
  });
});

describe('what is still missing is said', () => {
  it.each([
    [{ labels: [{ key: '', values: ['x'] }], expressions: [] }, /needs a name/],
    [{ labels: [{ key: 'ring', values: [] }], expressions: [] }, /ring needs a value/],
    [
      {
        labels: [
          { key: 'ring', values: ['a'] },
          { key: 'ring', values: ['b'] },
        ],
        expressions: [],
      },
      /twice/,
    ],
    [{ labels: [], expressions: [{ key: '', operator: 'Exists', values: [] }] }, /needs a field/],
    [
      {
        labels: [],
        expressions: [{ key: '$version', operator: 'VersionLt', values: ['1.0.0', '2.0.0'] }],
      },
      /exactly one/,
    ],
  ] as const)('%j', (draft, text) => {
    expect(draftObstacle(draft)?.reason).toMatch(text);
  });
});

/** Returns the clauses without the marks that isolate each value. */
function words(...args: Parameters<typeof targetingText>): string[] {
  return targetingText(...args).map((clause) => clause.replace(/[\u2068\u2069]/g, ''));
}

describe('targeting in words', () => {
  it('says nothing of a release for everybody', () => {
    expect(words(null)).toEqual([]);
    expect(words({ matchLabels: {}, matchExpressions: [] })).toEqual([]);
  });

  it('lists the values of a label with "or"', () => {
    const matchLabels = { ring: ['beta', 'canary', 'dev'], site: ['x'] };
    expect(words({ matchLabels, matchExpressions: [] })).toEqual([
      'ring is beta, canary or dev',
      'site is x',
    ]);
  });

  it.each([
    [{ key: '$version', operator: 'VersionGte', values: ['1.2.0'] }, 'version is 1.2.0 or newer'],
    [{ key: '$version', operator: 'VersionLt', values: ['2.0.0'] }, 'version is older than 2.0.0'],
    [{ key: '$platform', operator: 'In', values: ['linux'] }, 'platform is linux'],
    [{ key: '$arch', operator: 'NotIn', values: ['x86'] }, 'architecture is not x86'],
    [{ key: 'ring', operator: 'NotIn', values: ['a', 'b'] }, 'ring is neither a nor b'],
    [{ key: 'ring', operator: 'Exists', values: [] }, 'ring is set'],
    [{ key: 'ring', operator: 'DoesNotExist', values: [] }, 'ring is not set'],
    [{ key: 'ring', operator: 'In', values: [''] }, 'ring is (empty)'],
  ] as const)('reads %o as "%s"', (expression, text) => {
    expect(words({ matchLabels: {}, matchExpressions: [expression] })).toEqual([text]);
  });

  it('isolates each value, so that one from right to left does not turn the sentence around', () => {
    const [clause] = targetingText({ matchLabels: { ring: ['א'] }, matchExpressions: [] });
    expect(clause).toBe('ring is \u2068א\u2069');
  });

  it('a label named like a property of every object is a label, in words and in rows', () => {
    const matchLabels = Object.fromEntries([['constructor', ['x']]]);
    const rows = { labels: [{ key: '__proto__', values: ['x'] }], expressions: [] };
    expect(Object.keys(targetingOf(rows)?.matchLabels ?? {})).toEqual(['__proto__']);
    expect(words({ matchLabels, matchExpressions: [] })).toEqual(['constructor is x']);
  });
});
