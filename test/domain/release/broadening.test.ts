// Tests which changes of targeting are allowed once a release was offered (docs/contract.md 3.6, 14.5 to
// 14.7).

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TargetExpression, Targeting } from '../../../src/contract/resource.ts';
import { compileTargeting } from '../../../src/domain/decision/targeting.ts';
import { obstacleToBroadening } from '../../../src/domain/release/broadening.ts';
import { PROPERTY_RUNS } from '../../support/property-runs.ts';
import {
  anyLabels,
  anyMatchLabels,
  anyTargeting,
  fields,
  matchesBoth,
  targeting,
} from '../sample.ts';

const IN_AB: TargetExpression = { key: 'tier', operator: 'In', values: ['a', 'b'] };
const EXISTS: TargetExpression = { key: 'region', operator: 'Exists', values: [] };

type Row = readonly [what: string, before: Targeting | null, after: Targeting | null];

/** Targeting by labels alone. */
function labels(matchLabels: Targeting['matchLabels']): Targeting {
  return targeting({ matchLabels });
}

/** Targeting by expressions alone. */
function expressions(...matchExpressions: TargetExpression[]): Targeting {
  return targeting({ matchExpressions });
}

const A = labels({ tier: ['a'] });
const AB = labels({ tier: ['a', 'b'] });
const A_EU = labels({ tier: ['a'], region: ['eu'] });
/** Keys that are named like members of an object. */
const HOSTILE = ['__proto__', 'constructor', 'toString'];

describe('labels broaden when every key that remains has a superset and no key is added', () => {
  it.each<Row>([
    ['no change', A, A],
    ['another order of values', AB, labels({ tier: ['b', 'a'] })],
    ['a repeated value', AB, labels({ tier: ['b', 'a', 'a'] })],
    ['a value more', A, AB],
    ['dropping a key', A_EU, A],
    ['dropping every key', A_EU, labels({})],
    ['dropping one and widening one', A_EU, AB],
    ['dropping all targeting', A, null],
    ['nothing where there was nothing', null, null],
    ['an empty object where there was nothing', null, targeting({})],
    ['nothing where there was an empty object', targeting({}), null],
    ...HOSTILE.map((key): Row => [`a value more of ${key}`, own(key, 'a'), own(key, 'a', 'b')]),
  ])('%s is allowed', (_what, before, after) => {
    expect(obstacleToBroadening(before, after)).toBeUndefined();
  });

  it.each<Row>([
    ['a value less', AB, A],
    ['another value', A, labels({ tier: ['b'] })],
    ['a value exchanged for two', A, labels({ tier: ['b', 'c'] })],
    ['a key where there was none', labels({}), A],
    ['a key where there was no targeting', null, A],
    ['a key more', A, A_EU],
    ['another key', A, labels({ region: ['a'] })],
    [
      'one wider and one narrower',
      labels({ a: ['1'], b: ['1', '2'] }),
      labels({ a: ['1', '2'], b: ['1'] }),
    ],
    ...HOSTILE.map((key): Row => [`the key ${key}`, labels({}), own(key, 'a')]),
  ])('%s is refused', (_what, before, after) => {
    expect(obstacleToBroadening(before, after)).toBe('labels');
  });
});

function own(key: string, ...values: readonly string[]): Targeting {
  return labels(Object.fromEntries([[key, [...values]]]));
}

describe('expressions are frozen, compared as a set', () => {
  const reordered: TargetExpression = { ...IN_AB, values: ['b', 'a'] };

  it.each<Row>([
    ['another order', expressions(IN_AB, EXISTS), expressions(EXISTS, reordered)],
    ['the same twice', expressions(IN_AB), expressions(IN_AB, reordered)],
  ])('%s is allowed', (_what, before, after) => {
    expect(obstacleToBroadening(before, after)).toBeUndefined();
  });

  it.each<Row>([
    ['one more', expressions(IN_AB), expressions(IN_AB, EXISTS)],
    ['one less, though that would match more', expressions(IN_AB, EXISTS), expressions(IN_AB)],
    [
      'a value more, though that would match more',
      expressions(IN_AB),
      expressions({ ...IN_AB, values: ['a', 'b', 'c'] }),
    ],
    ['a value less', expressions(IN_AB), expressions({ ...IN_AB, values: ['a'] })],
    ['another operator', expressions(IN_AB), expressions({ ...IN_AB, operator: 'NotIn' })],
    ['another key', expressions(IN_AB), expressions({ ...IN_AB, key: 'ring' })],
    ['another spelling', expressions(IN_AB), expressions({ ...IN_AB, values: ['a,b'] })],
    ['none any more', expressions(EXISTS), null],
    ['one where there was no targeting', null, expressions(IN_AB)],
    ['one less and narrower labels', { ...A, matchExpressions: [EXISTS] }, labels({ tier: ['b'] })],
  ])('%s is refused', (_what, before, after) => {
    expect(obstacleToBroadening(before, after)).toBe('expressions');
  });
});

describe('no accepted change loses a device', () => {
  /**
   * Pairs of targeting objects. The second is often a variation of the first, so that many changes are
   * accepted.
   */
  const anyChange = anyTargeting.chain((before) =>
    fc.tuple(
      fc.constant(before),
      fc.oneof(
        anyTargeting,
        anyMatchLabels.map((matchLabels) => ({
          matchLabels,
          matchExpressions: [...(before?.matchExpressions ?? [])].reverse(),
        })),
      ),
    ),
  );
  const anyRequest = fc
    .tuple(fc.constantFrom('1.0.0', '1.5.0', '2.0.0'), fc.constantFrom('darwin', 'linux'))
    .map(([text, platform]) => fields(text, platform));

  it('every device that matched before an accepted change matches after it; no change is always accepted', () => {
    let accepted = 0;
    fc.assert(
      fc.property(
        anyChange,
        fc.array(anyLabels, { minLength: 1, maxLength: 20 }),
        anyRequest,
        ([before, after], fleet, request) => {
          expect(obstacleToBroadening(before, before)).toBeUndefined();
          if (obstacleToBroadening(before, after) !== undefined) return;
          accepted += 1;
          const [was, is] = [compileTargeting(before), compileTargeting(after)];
          for (const labels of fleet) {
            if (!matchesBoth(was, request, labels)) continue;
            expect(matchesBoth(is, request, labels)).toBe(true);
          }
        },
      ),
    );
    expect(accepted).toBeGreaterThan(PROPERTY_RUNS / 10);
  });
});
