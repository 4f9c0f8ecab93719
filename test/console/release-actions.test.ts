// Tests which actions the state of a release allows, in which order, and how their buttons look.

import { describe, expect, it } from 'vitest';
import {
  type ActionState,
  actionLabel,
  actionTone,
  type ReleaseAction,
  releaseActions,
} from '../../src/console/format/release-actions.ts';

const FRESH: ActionState = {
  ...{ status: 'published', offered: false, hold: null, state: 'serving' },
  ...{ isUnhealthy: false, isArchived: false, hasOther: true },
};
const PAUSED = { status: 'paused', state: 'paused' } as const;
const GUARDED = { status: 'paused', state: 'stopped by its guard' } as const;
const ROLLED_BACK = { status: 'rolled_back', state: 'rolled back', offered: true } as const;
const DEPRECATED = { status: 'deprecated', state: 'deprecated', offered: true } as const;

describe('the actions on a release', () => {
  it.each<[what: string, state: Partial<ActionState>, actions: string]>([
    ['published', {}, 'pause rollback next promote deprecate withdraw'],
    ['that devices were offered', { offered: true }, 'pause rollback next promote deprecate'],
    ['of the only channel', { hasOther: false }, 'pause rollback next deprecate withdraw'],
    ['of an archived app', { isArchived: true }, 'pause rollback deprecate withdraw'],
    ['paused', PAUSED, 'resume rollback next promote deprecate withdraw'],
    ['stopped by its guard', GUARDED, 'rollback resume next promote deprecate withdraw'],
    [
      'paused and unhealthy',
      { ...PAUSED, isUnhealthy: true },
      'rollback resume next promote deprecate withdraw',
    ],
    ['unhealthy', { isUnhealthy: true, offered: true }, 'pause rollback next promote deprecate'],
    ['deprecated', DEPRECATED, 'resume rollback next'],
    ['rolled back', ROLLED_BACK, 'next'],
    ['rolled back before it was offered', { ...ROLLED_BACK, offered: false }, 'next'],
    ['rolled back, of an archived app', { ...ROLLED_BACK, isArchived: true }, ''],
  ])('%s', (_, state, actions) => {
    expect(releaseActions({ ...FRESH, ...state }).join(' ')).toBe(actions);
  });
});

describe('the look of an action', () => {
  it.each<[action: ReleaseAction, what: string, state: Partial<ActionState>, tone: string]>([
    ['pause', 'published', {}, 'plain'],
    ['pause', 'unhealthy', { isUnhealthy: true }, 'danger'],
    ['resume', 'paused', PAUSED, 'primary'],
    ['resume', 'paused and unhealthy', { ...PAUSED, isUnhealthy: true }, 'plain'],
    ['resume', 'that waits for its files', { ...PAUSED, hold: 'expecting' }, 'plain'],
    ['resume', 'stopped by its guard', GUARDED, 'plain'],
    ['resume', 'deprecated', DEPRECATED, 'plain'],
    ['rollback', 'published and unhealthy', { isUnhealthy: true }, 'plain'],
    ['rollback', 'paused and unhealthy', { ...PAUSED, isUnhealthy: true }, 'danger'],
    ['rollback', 'stopped by its guard', GUARDED, 'danger'],
    ['rollback', 'paused', PAUSED, 'plain'],
  ])('%s of a release %s', (action, _, state, tone) => {
    expect(actionTone(action, { ...FRESH, ...state })).toBe(tone);
  });
});

it('a deprecated release is published again, every other one resumed (U21)', () => {
  expect(actionLabel('resume', 'deprecated')).toBe('Publish again…');
  expect(actionLabel('resume', 'paused')).toBe('Resume…');
  expect(actionLabel('withdraw', 'deprecated')).toBe('Withdraw…');
});
