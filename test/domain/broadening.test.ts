// Tests which changes of targeting are allowed once a release was offered (docs/contract.md 3.6, 14.5 to
// 14.7).

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TargetExpression, Targeting } from '../../src/contract/resource.ts';
import { compileTargeting } from '../../src/domain/decision/targeting.ts';
import { obstacleToBroadening } from '../../src/domain/release/broadening.ts';
import { PROPERTY_RUNS } from '../support/property-runs.ts';
import {
  anyLabels,
  anyMatchLabels,
  anyTargeting,
  fields,
  matchesBoth,
  ownRecord,
  targeting,
} from './sample.ts';

function ofLabels(before: Targeting['matchLabels'], after: Targeting['matchLabels']) {
  return obstacleToBroadening(
    targeting({ matchLabels: before }),
    targeting({ matchLabels: after }),
  );
}

function ofExpressions(before: TargetExpression[], after: TargetExpression[]) {
  return obstacleToBroadening(
    targeting({ matchExpressions: before }),
    targeting({ matchExpressions: after }),
  );
}

const IN_AB: TargetExpression = { key: 'tier', operator: 'In', values: ['a', 'b'] };
const EXISTS: TargetExpression = { key: 'region', operator: 'Exists', values: [] };

describe('matchLabels broadens when every key that remains has a superset and no key is added', () => {
  it.each([
    ['no change', { tier: ['a'] }, { tier: ['a'] }],
    ['another order of values', { tier: ['a', 'b'] }, { tier: ['b', 'a'] }],
    ['a repeated value', { tier: ['a', 'b'] }, { tier: ['b', 'a', 'a'] }],
    ['a value more', { tier: ['a'] }, { tier: ['a', 'b'] }],
    ['dropping a key', { tier: ['a'], region: ['eu'] }, { tier: ['a'] }],
    ['dropping every key', { tier: ['a'], region: ['eu'] }, {}],
    ['dropping one and widening one', { tier: ['a'], region: ['eu'] }, { tier: ['a', 'b'] }],
  ] as const)('%s is allowed', (_what, before, after) => {
    expect(ofLabels(before, after)).toBeUndefined();
  });

  it.each([
    ['a value less', { tier: ['a', 'b'] }, { tier: ['a'] }],
    ['another value', { tier: ['a'] }, { tier: ['b'] }],
    ['a value exchanged for two', { tier: ['a'] }, { tier: ['b', 'c'] }],
    ['a key where there was none', {}, { tier: ['a'] }],
    ['a key more', { tier: ['a'] }, { tier: ['a'], region: ['eu'] }],
    ['another key', { tier: ['a'] }, { region: ['a'] }],
    ['one wider and one narrower', { a: ['1'], b: ['1', '2'] }, { a: ['1', '2'], b: ['1'] }],
  ] as const)('%s is refused', (_what, before, after) => {
    expect(ofLabels(before, after)).toBe('labels');
  });

  it('a key named like an object member is added like any other', () => {
    for (const key of ['__proto__', 'constructor', 'toString']) {
      expect(ofLabels({}, ownRecord([[key, ['a']]]))).toBe('labels');
      expect(ofLabels(ownRecord([[key, ['a']]]), ownRecord([[key, ['a', 'b']]]))).toBeUndefined();
    }
  });
});

describe('matchExpressions are frozen, compared as a set', () => {
  it('their order, and the order of their values, is no change', () => {
    const reordered: TargetExpression = { ...IN_AB, values: ['b', 'a'] };
    expect(ofExpressions([IN_AB, EXISTS], [EXISTS, reordered])).toBeUndefined();
    expect(ofExpressions([IN_AB], [IN_AB, reordered])).toBeUndefined();
  });

  it.each([
    ['one more', [IN_AB], [IN_AB, EXISTS]],
    ['one less, even though that would match more devices', [IN_AB, EXISTS], [IN_AB]],
    [
      'a value more, even though that would match more devices',
      [IN_AB],
      [{ ...IN_AB, values: ['a', 'b', 'c'] }],
    ],
    ['a value less', [IN_AB], [{ ...IN_AB, values: ['a'] }]],
    ['another operator', [IN_AB], [{ ...IN_AB, operator: 'NotIn' }]],
    ['another key', [IN_AB], [{ ...IN_AB, key: 'ring' }]],
  ] as [string, TargetExpression[], TargetExpression[]][])(
    '%s is refused',
    (_what, before, after) => {
      expect(ofExpressions(before, after)).toBe('expressions');
    },
  );

  it('no spelling of one expression can pass for another', () => {
    const joined: TargetExpression = { key: 'tier', operator: 'In', values: ['a,b'] };
    expect(ofExpressions([IN_AB], [joined])).toBe('expressions');
  });

  it('is the answer when labels are narrowed in the same call', () => {
    const before = targeting({ matchLabels: { tier: ['a'] }, matchExpressions: [EXISTS] });
    expect(obstacleToBroadening(before, targeting({ matchLabels: { tier: ['b'] } }))).toBe(
      'expressions',
    );
  });
});

describe('null, and left-out parts, are empty', () => {
  it('null is allowed only when there were no matchExpressions', () => {
    expect(obstacleToBroadening(targeting({ matchLabels: { tier: ['a'] } }), null)).toBeUndefined();
    expect(obstacleToBroadening(targeting({ matchExpressions: [EXISTS] }), null)).toBe(
      'expressions',
    );
    expect(obstacleToBroadening(null, null)).toBeUndefined();
  });

  it('an empty object is no change from null', () => {
    expect(obstacleToBroadening(null, targeting({}))).toBeUndefined();
    expect(obstacleToBroadening(targeting({}), null)).toBeUndefined();
  });

  it('anything asked of a release for everybody is a narrowing', () => {
    expect(obstacleToBroadening(null, targeting({ matchLabels: { tier: ['a'] } }))).toBe('labels');
    expect(obstacleToBroadening(null, targeting({ matchExpressions: [IN_AB] }))).toBe(
      'expressions',
    );
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

  it('every device that matched before an accepted change matches after it', () => {
    let accepted = 0;
    fc.assert(
      fc.property(
        anyChange,
        fc.array(anyLabels, { minLength: 1, maxLength: 20 }),
        anyRequest,
        ([before, after], fleet, request) => {
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

  it('leaving targeting as it is, is always accepted', () => {
    fc.assert(
      fc.property(anyTargeting, (targets) => {
        expect(obstacleToBroadening(targets, targets)).toBeUndefined();
      }),
    );
  });
});
