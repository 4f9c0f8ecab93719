// Tests the draft of a release's targeting while it is edited.

import { describe, expect, it } from 'vitest';
import { draftObstacle, targetingDraft, targetingOf } from '../../src/console/format/targeting.ts';
import type { Targeting } from '../../src/contract/resource.ts';

const TARGETS: Targeting = {
  matchLabels: { ring: ['a', 'b'] },
  matchExpressions: [{ key: '$version', operator: 'VersionGte', values: ['1.0.0'] }],
};

describe('the rows of a targeting', () => {
  it('stand for the same targeting again', () => {
    expect(targetingOf(targetingDraft(TARGETS))).toEqual(TARGETS);
    expect(targetingOf(targetingDraft(null))).toBeNull();
  });

  it('keep a label named like a property of every object', () => {
    const targets = targetingOf({ labels: [{ key: '__proto__', values: ['x'] }], expressions: [] });
    expect(Object.keys(targets?.matchLabels ?? {})).toEqual(['__proto__']);
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
      { labels: [], expressions: [{ key: 'ring', operator: 'In', values: [] }] },
      /ring needs a value/,
    ],
    [
      {
        labels: [],
        expressions: [{ key: '$version', operator: 'VersionLt', values: ['1.0.0', '2.0.0'] }],
      },
      /exactly one/,
    ],
  ] as const)('%j', (draft, text) => {
    expect(draftObstacle(draft)).toMatch(text);
  });

  it('and nothing when nothing is', () => {
    expect(draftObstacle(targetingDraft(TARGETS))).toBeUndefined();
  });
});
