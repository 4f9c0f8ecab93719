// Tests rollout plans while they are chosen: presets, and steps and limits of their own.

import { describe, expect, it } from 'vitest';
import {
  planBody,
  planLimitsText,
  presetDraft,
  stepsObstacle,
  withKind,
  withStep,
} from '../../src/console/format/plan-draft.ts';
import { PLAN_PRESETS } from '../../src/domain/rollout/plan-presets.ts';

const OWN = withKind(presetDraft('fast'), 'own');

describe('a plan that is chosen', () => {
  it('is sent as its preset; with devices that are reported alone, as what that stands for', () => {
    expect(planBody(presetDraft('careful'))).toEqual({ preset: 'careful' });
    const { steps, guards } = PLAN_PRESETS.careful;
    expect(planBody(presetDraft('careful'), 'push')).toEqual({
      ...{ steps, onBlind: 'hold' },
      guards: { ...guards, source: 'push' },
    });
  });

  it('begins as the preset before when it has steps and limits of its own', () => {
    expect(planBody(OWN)).toEqual({ ...PLAN_PRESETS.fast, onBlind: 'hold' });
    expect(planBody(withKind(OWN, 'normal'))).toEqual({ preset: 'normal' });
  });

  it('has no guards without a limit', () => {
    const limits = { failed: '', reverted: ' ', stuck: '', silent: '' };
    expect(planBody({ ...OWN, limits }, 'push')).toMatchObject({ guards: null });
    expect(planLimitsText({ ...OWN, limits })).toBe('none');
  });
});

describe('the steps of a plan of its own', () => {
  it('get another one before that for all devices, which has to be filled in', () => {
    const longer = withStep(OWN);
    expect(longer.steps.map(({ rollout }) => rollout)).toEqual(['20', '', '100']);
    expect(stepsObstacle(longer)).toMatch(/above that of the step before/);
    const open = { ...OWN, steps: [{ rollout: '5', hours: '1' }] };
    expect(withStep(open).steps.map(({ rollout }) => rollout)).toEqual(['5', '']);
  });

  it.each([
    [['20', '10'], /above/],
    [['0'], /above/],
    [['101'], /above/],
    [['abc'], /above/],
    [['20', '60'], undefined],
  ] as const)('%j', (shares, text) => {
    const steps = shares.map((rollout) => ({ rollout, hours: '1' }));
    const obstacle = stepsObstacle({ ...OWN, steps });
    if (text === undefined) expect(obstacle).toBeUndefined();
    else expect(obstacle).toMatch(text);
  });

  it('need a hold each', () => {
    expect(stepsObstacle({ ...OWN, steps: [{ rollout: '20', hours: '' }] })).toMatch(/a hold/);
  });
});
