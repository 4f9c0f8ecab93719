// Tests which devices a targeting object matches (docs/contract.md 2.3 and 13.9).

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type {
  TargetExpression,
  Targeting,
  TargetOperator,
} from '../../../src/contract/resource.ts';
import {
  compileTargeting,
  isTargeted,
  type RequestFields,
} from '../../../src/domain/decision/targeting.ts';
import { anyLabels, anyTargeting, fields, matchesBoth, ownRecord, targeting } from '../sample.ts';

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

describe('operators over a label', () => {
  const table: readonly (readonly [
    operator: TargetOperator,
    values: string[],
    whenListed: boolean,
    whenOther: boolean,
    whenAbsent: boolean,
  ])[] = [
    ['In', ['a', 'b'], true, false, false],
    ['NotIn', ['a', 'b'], false, true, false],
    ['Exists', [], true, true, false],
    ['DoesNotExist', [], false, false, true],
  ];
  it.each(table)('%s %j: listed %s, other %s, absent %s', (operator, values, ...expected) => {
    const [whenListed, whenOther, whenAbsent] = expected;
    const targets = expression('tier', operator, ...values);
    expect(matches(targets, { tier: 'a' })).toBe(whenListed);
    expect(matches(targets, { tier: 'b' })).toBe(whenListed);
    expect(matches(targets, { tier: 'z' })).toBe(whenOther);
    expect(matches(targets, { tier: '' })).toBe(whenOther);
    expect(matches(targets, { other: 'a' })).toBe(whenAbsent);
    expect(matches(targets)).toBe(whenAbsent);
  });

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

  it('values compare exactly: no case folding, no trimming', () => {
    for (const value of ['A', ' a', 'a ', 'á']) {
      expect(matches(expression('tier', 'In', 'a'), { tier: value })).toBe(false);
    }
  });

  it('keys named like object members behave like any key', () => {
    for (const key of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      const has = ownRecord([[key, 'a']]);
      const labelsHave = targeting({ matchLabels: ownRecord([[key, ['a']]]) });
      expect(matches(labelsHave, has)).toBe(true);
      expect(matches(labelsHave, {})).toBe(false);
      expect(matches(expression(key, 'Exists'), has)).toBe(true);
      expect(matches(expression(key, 'Exists'), {})).toBe(false);
      expect(matches(expression(key, 'DoesNotExist'), {})).toBe(true);
      expect(matches(expression(key, 'NotIn', 'b'), {})).toBe(false);
    }
  });
});

describe('matchLabels and matchExpressions are ANDed', () => {
  it('says the same as a plain reading of the object, for any targeting, device and labels', () => {
    const anyFields = fc
      .tuple(
        fc.constantFrom('1.0.0', '1.1.0', '1.5.0', '2.0.0-beta.1', '2.0.0', undefined),
        fc.constantFrom('darwin', 'linux', 'windows'),
        fc.constantFrom('x64', 'arm64', undefined),
      )
      .map(([text, platform, arch]) => ({
        ...fields(text ?? '1.0.0', platform, arch),
        ...(text === undefined ? { version: undefined } : {}),
      }));
    fc.assert(
      fc.property(anyTargeting, anyFields, anyLabels, (targets, request, labels) => {
        const compiled = compileTargeting(targets);
        const expected =
          targets === null ||
          (Object.entries(targets.matchLabels).every(([key, values]) =>
            values.some((value) => labels.get(key) === value),
          ) &&
            targets.matchExpressions.every((each) => holdsPlainly(each, request, labels)));
        expect(matchesBoth(compiled, request, labels)).toBe(expected);
      }),
    );
  });
});

/**
 * Second implementation of the operators, straight from the rules, for the values that the generator makes.
 */
function holdsPlainly(
  { key, operator, values }: TargetExpression,
  request: RequestFields,
  labels: ReadonlyMap<string, string>,
): boolean {
  const folded = new Map<string, string>([
    ...[['macOS', 'darwin'] as const, ['win32', 'windows'] as const],
    ...[['x64', 'x86_64'] as const, ['arm64', 'aarch64'] as const],
    ...[['0.9', '0.9.0'] as const, ['v3', '3.0.0'] as const],
  ]);
  const reserved = new Map([
    ['$platform', request.platform],
    ['$arch', request.arch === '' ? undefined : request.arch],
    ['$version', request.version?.canonical],
  ]);
  if (operator === 'VersionGte' || operator === 'VersionLt') {
    const ladder = ['1.0.0', '1.1.0', '1.5.0', '2.0.0-beta.1', '2.0.0'];
    const has = ladder.indexOf(request.version?.canonical ?? '');
    const bound = ladder.indexOf(values[0] === '1.1' ? '1.1.0' : (values[0] ?? ''));
    return has >= 0 && (operator === 'VersionGte' ? has >= bound : has < bound);
  }
  const value = key.startsWith('$') ? reserved.get(key) : labels.get(key);
  if (operator === 'DoesNotExist') return value === undefined;
  if (value === undefined) return false;
  const isListed = values.map((each) => folded.get(each) ?? each).includes(value);
  return operator === 'Exists' || (operator === 'In' ? isListed : !isListed);
}

describe('reserved fields are resolved from the request itself', () => {
  it('$platform and $arch compare after alias folding, on both sides', () => {
    for (const spelling of ['darwin', 'macOS', 'osx', 'MAC']) {
      expect(matches(expression('$platform', 'In', spelling))).toBe(true);
      expect(matches(expression('$platform', 'NotIn', spelling))).toBe(false);
    }
    for (const spelling of ['x64', 'AMD64', 'x86_64']) {
      expect(matches(expression('$arch', 'In', spelling))).toBe(true);
      expect(matches(expression('$arch', 'NotIn', spelling))).toBe(false);
    }
    expect(matches(expression('$arch', 'In', 'arm64'))).toBe(false);
    expect(matches(expression('$platform', 'In', 'linux'))).toBe(false);
  });

  it('a label cannot stand in for a reserved field', () => {
    expect(matches(expression('$platform', 'In', 'linux'), { $platform: 'linux' })).toBe(false);
    expect(matches(expression('$version', 'In', '9.0.0'), { $version: '9.0.0' })).toBe(false);
  });

  it('an unknown $ key never matches, not even DoesNotExist', () => {
    for (const operator of ['In', 'NotIn', 'Exists', 'DoesNotExist'] as const) {
      expect(matches(expression('$channel', operator, 'a'), { $channel: 'a' })).toBe(false);
    }
  });

  it('$version with In and NotIn compares canonical forms', () => {
    expect(matches(expression('$version', 'In', 'v1.5'))).toBe(true);
    expect(matches(expression('$version', 'In', '1.5.1', 'nonsense'))).toBe(false);
    expect(matches(expression('$version', 'NotIn', '1.5.0.0'))).toBe(false);
    expect(matches(expression('$version', 'NotIn', '1.5.1'))).toBe(true);
    expect(matches(expression('$version', 'Exists'))).toBe(true);
    expect(matches(expression('$version', 'DoesNotExist'))).toBe(false);
  });
});

describe('VersionGte and VersionLt compare semver-aware', () => {
  const table: readonly (readonly [device: string, bound: string, isAtLeast: boolean])[] = [
    ['1.5.0', 'v1.5', true],
    ['1.10.0', '1.9.0', true],
    ['1.5.0-beta', '1.5.0', false],
    ['1.5.0', '1.5.0+1', false],
  ];
  it.each(table)(
    'device %s, bound %s: at or above is %s, below the opposite',
    (text, bound, is) => {
      const request = fields(text);
      expect(matches(expression('$version', 'VersionGte', bound), {}, request)).toBe(is);
      expect(matches(expression('$version', 'VersionLt', bound), {}, request)).toBe(!is);
    },
  );

  it('both are false when the version cannot be resolved', () => {
    const request = { ...REQUEST, version: undefined };
    expect(matches(expression('$version', 'VersionGte', '0'), {}, request)).toBe(false);
    expect(matches(expression('$version', 'VersionLt', '9'), {}, request)).toBe(false);
  });

  it('both are false when the stored bound is no version: a damaged row must not widen a release', () => {
    for (const values of [['nonsense'], ['']]) {
      expect(matches(expression('$version', 'VersionGte', ...values))).toBe(false);
      expect(matches(expression('$version', 'VersionLt', ...values))).toBe(false);
    }
    expect(matches(expression('$version', 'VersionLt'))).toBe(false);
  });
});
