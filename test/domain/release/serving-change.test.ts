// Tests serving control: the transition matrix, the order of its parts and the invariants after a first offer
// (docs/contract.md 3 and 14).

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RELEASE_STATUSES } from '../../../src/contract/choice.ts';
import { type Failure, isFailure } from '../../../src/contract/failure.ts';
import { obstacleToBroadening } from '../../../src/domain/release/broadening.ts';
import {
  applyServingChange,
  type Serving,
  type ServingChange,
  transitionBy,
} from '../../../src/domain/release/serving-change.ts';
import { PROPERTY_RUNS } from '../../support/property-runs.ts';
import { anyTargeting, targeting } from '../sample.ts';

const FRESH: Serving = { rolloutPct: 20, status: 'published', targets: null, offered: false };
const OFFERED: Serving = { ...FRESH, offered: true };
const TIER_A = targeting({ matchLabels: { tier: ['a'] } });
const TIER_AB = targeting({ matchLabels: { tier: ['a', 'b'] } });
const FROZEN = targeting({
  matchExpressions: [{ key: 'tier', operator: 'Exists', values: [] }],
});
const BOTH = { ...TIER_A, matchExpressions: FROZEN.matchExpressions };

type Applied = ReturnType<typeof applyServingChange>;

function accepted(outcome: Applied): Serving {
  if (isFailure(outcome)) throw new Error(`refused: ${outcome.message}`);
  return outcome;
}

function refusal(outcome: Applied): readonly [kind: Failure['failure'], message: string] {
  if (!isFailure(outcome)) throw new Error(`accepted: ${JSON.stringify(outcome)}`);
  return [outcome.failure, outcome.message];
}

describe('a change that is meant for the state that its author saw (§11.24)', () => {
  const SEEN = { status: 'published', rolloutPct: 5 } as const;
  const meanwhile = 'Somebody changed this release meanwhile: it is';
  it.each<[change: ServingChange, now: Partial<Serving>, error?: string]>([
    [{ rollout: 20 }, {}],
    [{ rollout: 20 }, { rolloutPct: 10 }, `${meanwhile} published, at 10 %`],
    [{ rollout: 20 }, { status: 'paused' }, `${meanwhile} paused, at 5 %`],
    [{ targets: TIER_A }, { status: 'rolled_back' }, `${meanwhile} rolled back, at 5 %`],
    [{ status: 'published' }, { status: 'deprecated' }, `${meanwhile} deprecated, at 5 %`],
    // What stops a release is meant for every state.
    [{ status: 'paused' }, { rolloutPct: 10 }],
    [{ status: 'deprecated' }, { rolloutPct: 10 }],
    [{ status: 'rolled_back' }, { rolloutPct: 10 }],
  ])('%j, when it is %j by now', (change, now, error) => {
    const outcome = transitionBy(change, SEEN)({ ...FRESH, rolloutPct: 5, ...now });
    if (error !== undefined) expect(refusal(outcome)).toEqual(['changedMeanwhile', error]);
    else expect(accepted(outcome)).toMatchObject({ isStatusSet: change.status !== undefined });
  });
});

describe('status: published, paused and deprecated in any direction; rolled_back is permanent', () => {
  it.each(RELEASE_STATUSES)('from %s', (from) => {
    for (const to of RELEASE_STATUSES) {
      for (const offered of [false, true]) {
        const before: Serving = { ...FRESH, status: from, offered };
        const outcome = applyServingChange(before, { status: to });
        if (from === 'rolled_back' && to !== from) {
          const words = 'A rolled-back release cannot be re-served';
          expect(refusal(outcome)).toEqual(['rolledBack', words]);
        } else expect(accepted(outcome)).toEqual({ ...before, status: to });
      }
    }
  });

  it('on a rolled-back release, rollout and targets alone follow the invariants', () => {
    const rolledBack: Serving = { ...OFFERED, status: 'rolled_back', targets: TIER_A };
    expect(accepted(applyServingChange(rolledBack, { rollout: 30 })).rolloutPct).toBe(30);
    expect(accepted(applyServingChange(rolledBack, { targets: TIER_AB })).targets).toBe(TIER_AB);
    expect(refusal(applyServingChange(rolledBack, { rollout: 10 }))[0]).toBe('narrowing');
    expect(refusal(applyServingChange(rolledBack, { targets: FROZEN }))[0]).toBe('narrowing');
  });
});

describe('once a release has been offered to any device', () => {
  const narrow: Serving = { ...OFFERED, targets: TIER_A };
  const wide: Serving = { ...OFFERED, targets: TIER_AB };
  const frozen: Serving = { ...OFFERED, targets: FROZEN };
  const paused: Serving = { ...OFFERED, status: 'paused' };
  const both: Serving = { ...OFFERED, targets: BOTH };

  it.each<[string, Serving, ServingChange]>([
    ['before that the rollout may fall', FRESH, { rollout: 0 }],
    ['before that labels may come', FRESH, { targets: TIER_A }],
    ['before that expressions may come', FRESH, { targets: FROZEN }],
    ['the rollout may rise', OFFERED, { rollout: 21 }],
    ['the rollout may rise to all', OFFERED, { rollout: 100 }],
    ['the rollout may stay', OFFERED, { rollout: 20 }],
    ['labels may broaden', narrow, { targets: TIER_AB }],
    ['labels may go', narrow, { targets: null }],
    ['expressions may stay', frozen, { targets: FROZEN }],
    ['it may be paused', OFFERED, { status: 'paused' }],
  ])('%s', (_what, before, change) => {
    const { rollout, targets, status } = change;
    expect(accepted(applyServingChange(before, change))).toEqual({
      ...before,
      ...(rollout === undefined ? {} : { rolloutPct: rollout }),
      ...(targets === undefined ? {} : { targets }),
      ...(status === undefined ? {} : { status }),
    });
  });

  it.each<[string, Serving, ServingChange]>([
    ['a lower rollout', OFFERED, { rollout: 19 }],
    ['no rollout', OFFERED, { rollout: 0 }],
    ['narrower labels', wide, { targets: TIER_A }],
    ['labels where there were none', OFFERED, { targets: TIER_AB }],
    ['no expressions any more', frozen, { targets: null }],
    ['expressions where there were none', OFFERED, { targets: FROZEN }],
    ['a lower rollout while it is paused', paused, { rollout: 5 }],
    ['labels while it is paused', paused, { targets: TIER_A }],
    ['labels while it is rolled back', { ...OFFERED, status: 'rolled_back' }, { targets: TIER_A }],
    ['expressions left out beside wider labels', both, { targets: TIER_AB }],
    ['empty targeting', both, { targets: targeting({}) }],
  ])(
    '%s is refused, and the refusal states the percentage and the ways out',
    (_what, before, change) => {
      const [kind, message] = refusal(applyServingChange(before, change));
      expect(kind).toBe('narrowing');
      expect(message).toMatch(/\b20\s?%/);
      expect(message).toMatch(/rollout can only increase/i);
      expect(message).toMatch(/label targeting can only broaden/i);
      expect(message).toMatch(/\bpause\b/i);
      expect(message).toMatch(/\broll(?: it)? ?back\b/i);
    },
  );
});

describe('order within one call: targets, then rollout, then status; the first refusal is the answer', () => {
  const rolledBack: Serving = { ...OFFERED, status: 'rolled_back', targets: TIER_AB };
  const served = { status: 'published' } as const;

  it.each<[string, ServingChange, string, RegExp]>([
    ['targets', { targets: TIER_A, rollout: 5, ...served }, 'narrowing', /narrow its label/],
    ['rollout', { targets: TIER_AB, rollout: 5, ...served }, 'narrowing', /lower it to 5\s?%/],
    ['status', { targets: null, rollout: 50, status: 'published' }, 'rolledBack', /re-served/],
    ['expressions', { targets: FROZEN, rollout: 5 }, 'narrowing', /matchExpressions are frozen/],
  ])('%s', (_part, change, kind, words) => {
    const [found, message] = refusal(applyServingChange(rolledBack, change));
    expect([found, message]).toEqual([kind, expect.stringMatching(words)]);
  });

  it('an accepted call applies every part it names, and only those', () => {
    const change = { targets: TIER_A, rollout: 0, status: 'deprecated' } as const;
    expect(accepted(applyServingChange(FRESH, change))).toEqual({
      rolloutPct: 0,
      status: 'deprecated',
      targets: TIER_A,
      offered: false,
    });
    expect(accepted(applyServingChange(OFFERED, {}))).toEqual(OFFERED);
  });
});

describe('whatever sequence of calls arrives', () => {
  const anyStatus = fc.constantFrom(...RELEASE_STATUSES);
  const anyPct = fc.integer({ min: 0, max: 100 });
  const anyServing: fc.Arbitrary<Serving> = fc.record({
    rolloutPct: anyPct,
    status: anyStatus,
    targets: anyTargeting,
    offered: fc.boolean(),
  });
  const anyCall: fc.Arbitrary<ServingChange> = fc.record(
    { targets: anyTargeting, rollout: anyPct, status: anyStatus },
    { requiredKeys: [] },
  );
  const anyCalls = fc.array(anyCall, { minLength: 1, maxLength: 12 });

  it('a refusal has its reason, a rolled-back release stays so, and one that was offered is not narrowed', () => {
    let changed = 0;
    fc.assert(
      fc.property(anyServing, anyCalls, (any, calls) => {
        const starts = [any, { ...any, offered: true }, { ...any, status: 'rolled_back' as const }];
        for (const start of starts) {
          let state: Serving = start;
          for (const call of calls) {
            const outcome = applyServingChange(state, call);
            if (isFailure(outcome)) {
              if (outcome.failure === 'narrowing') expect(state.offered).toBe(true);
              else expect([outcome.failure, state.status]).toEqual(['rolledBack', 'rolled_back']);
              continue;
            }
            expect(outcome.offered).toBe(start.offered);
            if (state.status === 'rolled_back') expect(outcome.status).toBe('rolled_back');
            for (const before of start.offered ? [state, start] : []) {
              expect(outcome.rolloutPct).toBeGreaterThanOrEqual(before.rolloutPct);
              expect(obstacleToBroadening(before.targets, outcome.targets)).toBeUndefined();
              changed += 1;
            }
            state = outcome;
          }
        }
      }),
    );
    // Each is compared with two states.
    expect(changed).toBeGreaterThan((2 * PROPERTY_RUNS) / 3);
  });
});
