// Tests targeting as the console puts it into words.

import { describe, expect, it } from 'vitest';
import { targetingText } from '../../src/console/format/targeting.ts';

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

  it('a label named like a property of every object is a label', () => {
    const matchLabels = Object.fromEntries([['constructor', ['x']]]);
    expect(words({ matchLabels, matchExpressions: [] })).toEqual(['constructor is x']);
  });
});
