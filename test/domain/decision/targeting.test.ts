// Tests which devices a targeting object matches (docs/contract.md 2.3 and 13.9) where
// decide-naively.test.ts, which has any valid targeting, does not tell.

import { describe, expect, it } from 'vitest';
import type { Targeting, TargetOperator } from '../../../src/contract/resource.ts';
import {
  compileTargeting,
  isTargeted,
  type RequestFields,
} from '../../../src/domain/decision/targeting.ts';
import { fields, matchesBoth, targeting } from '../sample.ts';

const REQUEST: RequestFields = fields('1.5.0', 'macOS', 'x64');

function matches(
  targets: Targeting | null,
  labels: Record<string, string> = {},
  request: RequestFields = REQUEST,
): boolean {
  return matchesBoth(compileTargeting(targets), request, new Map(Object.entries(labels)));
}

function expression(key: string, operator: TargetOperator, ...values: string[]): Targeting {
  return targeting({ matchExpressions: [{ key, operator, values }] });
}

describe('whether a release is for some devices only (§2.3)', () => {
  it.each<[targets: Targeting | null, expected: boolean]>([
    [null, false],
    [targeting({}), false],
    [targeting({ matchLabels: { ring: ['a'] } }), true],
    [expression('ring', 'Exists'), true],
    [expression('$platform', 'In', 'linux'), true],
  ])('%j: %s', (targets, expected) => {
    expect(isTargeted(targets)).toBe(expected);
  });

  it('what is empty is compiled as none is', () => {
    expect(compileTargeting(targeting({}))).toEqual(compileTargeting(null));
  });
});

describe('operators', () => {
  it('all operators except DoesNotExist fail closed when the key cannot be resolved', () => {
    const closed: TargetOperator[] = ['In', 'NotIn', 'Exists', 'VersionGte', 'VersionLt'];
    const unresolved: RequestFields = { version: undefined, platform: 'darwin', arch: '' };
    for (const key of ['tier', '$version', '$arch']) {
      for (const operator of closed) {
        expect(matches(expression(key, operator, '1.0.0'), {}, unresolved)).toBe(false);
      }
      expect(matches(expression(key, 'DoesNotExist'), {}, unresolved)).toBe(true);
    }
  });

  it('a version operator on another key than $version is false, present or not', () => {
    for (const operator of ['VersionGte', 'VersionLt'] as const) {
      for (const key of ['tier', '$platform', '$arch']) {
        expect(matches(expression(key, operator, '1.0.0'), { tier: '2.0.0' })).toBe(false);
      }
    }
  });

  it('values of labels compare exactly: no case folding, no trimming', () => {
    for (const value of ['A', ' a', 'a ', 'á', '']) {
      expect(matches(expression('tier', 'In', 'a'), { tier: value })).toBe(false);
    }
  });

  it('keys named like object members behave like any key', () => {
    for (const key of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      const has = Object.fromEntries([[key, 'a']]);
      const labelsHave = targeting({ matchLabels: Object.fromEntries([[key, ['a']]]) });
      expect(matches(labelsHave, has)).toBe(true);
      expect(matches(labelsHave, {})).toBe(false);
      expect(matches(expression(key, 'Exists'), has)).toBe(true);
      expect(matches(expression(key, 'Exists'), {})).toBe(false);
      expect(matches(expression(key, 'DoesNotExist'), {})).toBe(true);
      expect(matches(expression(key, 'NotIn', 'b'), {})).toBe(false);
    }
  });
});

describe('reserved fields are resolved from the request itself', () => {
  it('a label cannot stand in for a reserved field', () => {
    expect(matches(expression('$platform', 'In', 'linux'), { $platform: 'linux' })).toBe(false);
    expect(matches(expression('$version', 'In', '9.0.0'), { $version: '9.0.0' })).toBe(false);
  });

  it('an unknown $ key never matches, not even DoesNotExist', () => {
    for (const operator of ['In', 'NotIn', 'Exists', 'DoesNotExist'] as const) {
      expect(matches(expression('$channel', operator, 'a'), { $channel: 'a' })).toBe(false);
    }
  });

  it('$version with In passes over what is no version', () => {
    expect(matches(expression('$version', 'In', 'nonsense', 'v1.5'))).toBe(true);
    expect(matches(expression('$version', 'In', '1.5.1', 'nonsense'))).toBe(false);
  });
});

describe('VersionGte and VersionLt (§10.4)', () => {
  it.each([
    ['1.5.0', 'v1.5', true],
    ['1.10.0', '1.9.0', true],
    ['1.5.0-beta', '1.5.0', false],
    ['1.5.0', '1.5.0+1', false],
  ])('a device on %s is at or above %s: %s', (text, bound, is) => {
    const request = fields(text);
    expect(matches(expression('$version', 'VersionGte', bound), {}, request)).toBe(is);
    expect(matches(expression('$version', 'VersionLt', bound), {}, request)).toBe(!is);
  });

  it('are false when the stored bound is no version: a damaged row must not widen a release', () => {
    for (const values of [['nonsense'], [''], []]) {
      expect(matches(expression('$version', 'VersionGte', ...values))).toBe(false);
      expect(matches(expression('$version', 'VersionLt', ...values))).toBe(false);
    }
  });
});
