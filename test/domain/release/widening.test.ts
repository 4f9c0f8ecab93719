// Tests which changes widen the exposure of a release, and so wait for an approval (docs/contract.md 33.2).

import { describe, expect, test } from 'vitest';
import type { Targeting } from '../../../src/contract/resource.ts';
import {
  type ExposedRelease,
  type ExposingPolicy,
  movesReleases,
  type PlanMark,
  widens,
} from '../../../src/domain/release/widening.ts';

const SERVED: ExposedRelease = { status: 'published', rolloutPct: 10, targets: null, plan: null };
const PLAN: PlanMark = { id: 'one', status: 'running', step: 0 };
const POLICY: ExposingPolicy = {
  ...{ defaultRollout: 50, requireSignature: true, follows: null, approvals: 'one' },
  ...{ minimumSupportedVersion: '1.0.0', ddi: null },
};
const EXPRESSION = { key: '$version', operator: 'VersionGte', values: ['1.0.0'] } as const;
const labels = (...tier: string[]): Targeting => ({ matchLabels: { tier }, matchExpressions: [] });

describe('a change of a release widens (§33.2)', () => {
  type Exposed = Partial<ExposedRelease>;
  type Case = [title: string, before: Exposed | null, after: Exposed, boolean];
  const PAUSED = { status: 'paused' } as const;
  const on = (...matchExpressions: Targeting['matchExpressions']) => ({
    ...{ ...labels('a'), matchExpressions },
  });
  const cases: Case[] = [
    ['it is published above 0 %', null, {}, true],
    ['it is published at 0 %', null, { rolloutPct: 0 }, false],
    ['it lands paused', null, { status: 'paused', rolloutPct: 100 }, false],
    ['it lands at 0 % with a plan', null, { rolloutPct: 0, plan: PLAN }, true],
    ['it lands paused with a plan', null, { status: 'paused', plan: PLAN }, true],
    ['nothing changes', {}, {}, false],
    ['the rollout rises', {}, { rolloutPct: 11 }, true],
    ['the rollout falls', {}, { rolloutPct: 9 }, false],
    ['the rollout of a paused one rises', PAUSED, { ...PAUSED, rolloutPct: 11 }, true],
    ['a paused one is published', { status: 'paused' }, {}, true],
    ['a deprecated one is published', { status: 'deprecated' }, {}, true],
    ['it is paused', {}, { status: 'paused' }, false],
    ['it is deprecated', {}, { status: 'deprecated' }, false],
    ['it is rolled back', {}, { status: 'rolled_back' }, false],
    ['it is raised and paused', {}, { rolloutPct: 20, status: 'paused' }, true],
    ['it gets a plan', {}, { plan: PLAN }, true],
    ['it gets another plan', { plan: PLAN }, { plan: { ...PLAN, id: 'two' } }, true],
    ['its plan is held', { plan: PLAN }, { plan: { ...PLAN, status: 'held' } }, false],
    ['targeting is added', {}, { targets: labels('a') }, false],
    ['targeting is cleared', { targets: labels('a') }, {}, true],
    ['a value is added', { targets: labels('a') }, { targets: labels('a', 'b') }, true],
    ['a value is left out', { targets: labels('a', 'b') }, { targets: labels('a') }, false],
    ['a value is replaced', { targets: labels('a') }, { targets: labels('b') }, true],
    ['empty targeting is cleared', { targets: { ...on(), matchLabels: {} } }, {}, false],
    ['a condition is added', { targets: labels('a') }, { targets: on(EXPRESSION) }, false],
    ['a condition is left out', { targets: on(EXPRESSION) }, { targets: labels('a') }, true],
    [
      'a condition is replaced by labels',
      { targets: { ...on(EXPRESSION), matchLabels: {} } },
      ...[{ targets: labels('a') }, true],
    ] as Case,
  ];
  test.each(cases)('%s', (_, was, is, expected) => {
    const before = was === null ? null : { ...SERVED, ...was };
    expect(widens({ kind: 'release', before, after: { ...SERVED, ...is } })).toBe(expected);
  });

  test('its plan is resumed or advanced, not where it is held or cancelled', () => {
    const state = { ...SERVED, plan: PLAN };
    const actions = ['resume', 'advance', 'hold', 'cancel'] as const;
    const widening = actions.filter((steered) =>
      widens({ kind: 'release', before: state, after: state, steered }),
    );
    expect(widening).toEqual(['resume', 'advance']);
  });
});

describe('a change of settings widens (§33.4)', () => {
  type Policy = Partial<ExposingPolicy>;
  type Case = [title: string, before: Policy, after: Policy, boolean];
  const WAITS: Policy = { ddi: { unknownVersion: 'wait' } };
  const OFFERS: Policy = { ddi: { unknownVersion: 'offer' } };
  const cases: Case[] = [
    ['nothing changes', {}, {}, false],
    ['the default rollout rises', {}, { defaultRollout: 51 }, true],
    ['the default rollout falls', {}, { defaultRollout: 49 }, false],
    ['signatures are no longer required', {}, { requireSignature: false }, true],
    ['signatures are required', { requireSignature: false }, {}, false],
    ['it follows an unprotected channel', {}, { follows: 'beta' }, true],
    ['it goes on following', { follows: 'beta' }, { follows: 'beta' }, false],
    ['it follows no more', { follows: 'beta' }, {}, false],
    ['the minimum version rises', {}, { minimumSupportedVersion: '1.0.1' }, true],
    ['the minimum version falls', {}, { minimumSupportedVersion: '0.9' }, false],
    ['the minimum version is spelled otherwise', {}, { minimumSupportedVersion: '1.0' }, false],
    ['a minimum version is set', { minimumSupportedVersion: null }, {}, true],
    ['the minimum version is cleared', {}, { minimumSupportedVersion: null }, false],
    ['approvals are turned off', {}, { approvals: 'none' }, true],
    ['approvals are turned on', { approvals: 'none' }, {}, false],
    ['DDI is turned on', {}, WAITS, true],
    ['DDI is turned off', OFFERS, {}, false],
    ['DDI offers to unknown versions', WAITS, OFFERS, true],
    ['DDI goes on to offer to unknown versions', OFFERS, OFFERS, false],
    ['DDI offers to unknown versions no more', OFFERS, WAITS, false],
  ];
  test.each(cases)('%s', (_, was, is, expected) => {
    const change = { before: { ...POLICY, ...was }, after: { ...POLICY, ...is } };
    expect(widens({ kind: 'channel', ...change, isFollowedProtected: false })).toBe(expected);
  });

  test('releases move when the channel follows otherwise or signatures are required, else never', () => {
    const moved = (change: Partial<ExposingPolicy>) =>
      movesReleases(POLICY, { ...POLICY, ...change });
    expect([{ follows: 'beta' }, { requireSignature: false }].map(moved)).toEqual([true, true]);
    const others: Policy[] = [{}, { approvals: 'none' }, { minimumSupportedVersion: null }];
    expect(others.map(moved)).toEqual([false, false, false]);
  });

  test('not when the channel that it follows asks for approvals itself', () => {
    const change = { before: POLICY, after: { ...POLICY, follows: 'beta' } };
    expect(widens({ kind: 'channel', ...change, isFollowedProtected: true })).toBe(false);
  });
});
