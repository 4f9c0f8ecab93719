// Tests the console's words for plans, plans while they are chosen, and that the document of the presets has
// them as they are.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  planBody,
  planLimitsText,
  presetDraft,
  stepsObstacle,
  withKind,
  withStep,
} from '../../src/console/format/plan-draft.ts';
import {
  placesLeft,
  planActions,
  stepPlace,
  stepsText,
  watchText,
} from '../../src/console/format/plan-words.ts';
import { PLAN_PRESET_NAMES } from '../../src/contract/choice.ts';
import type { PlanStep, RolloutPlan } from '../../src/contract/rollout-plan.ts';
import { PLAN_PRESETS } from '../../src/domain/rollout/plan-presets.ts';

const AT = '2026-01-01T00:00:00.000Z';

function step(rollout: number, startedAt: string | null, endedAt: string | null): PlanStep {
  return { rollout, holdMinutes: 60, startedAt, endedAt };
}

const STEPS = [
  step(1, null, AT),
  step(5, AT, AT),
  step(10, AT, null),
  step(50, null, null),
  step(100, null, null),
];

function plan(status: RolloutPlan['status']): RolloutPlan {
  return {
    ...{ id: 'pln_1', app: 'notes', channel: 'stable', version: '1.0.0', status, reason: null },
    ...{ steps: STEPS, step: 2, nextAt: null, guards: null, onTrip: 'pause' },
    ...{
      waitingFor: null,
      onBlind: 'hold',
      patienceMinutes: 1440,
      raiseBetween: null,
      preset: null,
    },
    ...{ createdAt: AT, createdBy: 'admin-token' },
  };
}

describe('the words of a plan', () => {
  it('a step was passed over, is done, is now, comes next or later (§27.4)', () => {
    const places = (status: RolloutPlan['status']) =>
      STEPS.map((each) => stepPlace(plan(status), each));
    expect(places('running')).toEqual(['passed', 'done', 'now', 'next', 'later']);
    expect(places('cancelled').slice(3)).toEqual(['later', 'later']);
  });

  it('only what the service allows is offered (§27.3)', () => {
    expect(planActions('held')).toEqual(['resume', 'cancel']);
    expect(planActions('running')).toEqual(['advance', 'hold', 'cancel']);
    expect(planActions('completed')).toEqual([]);
  });
});

const GUARDS = {
  ...{ minimumDevices: 100, stuckAfterMinutes: 60, silentAfterMinutes: 60 },
  ...{ knownForMinutes: 0, confirmMinutes: 0 },
};
const PUSHED = { ...GUARDS, source: 'push' } as const;
const ABOVE = 'When a signal exceeds its limit (95\u00a0% confidence),';

describe('what watches a plan', () => {
  it.each<[status: RolloutPlan['status'], of: Partial<RolloutPlan>, text: string]>([
    ['running', { guards: GUARDS }, `${ABOVE} the release is paused and the plan held.`],
    ['held', { guards: GUARDS, onTrip: 'hold' }, `${ABOVE} the plan is held.`],
    [
      'scheduled',
      { guards: PUSHED, onTrip: 'hold' },
      `${ABOVE} the plan is held. Only devices that are reported with a key count.`,
    ],
    ['running', {}, 'It has no guards: nothing but people stops it.'],
    ['cancelled', { guards: GUARDS }, 'The plan is over: nothing watches the signals now.'],
  ])('%s with %j: a plan that is over does not claim to watch (U20)', (status, of, text) => {
    expect(watchText({ ...plan(status), ...of })).toBe(text);
  });
});

describe('where the trouble is', () => {
  const place = (name: string, devices: number) => ({ name, devices, base: devices });

  it('leaves out devices that went on to a newer release, and says how many (U10)', () => {
    const named = [place('2.3.1', 24), place('2.4.0', 7), place('2.2.0', 3), place('', 1)];
    const others = { devices: 2, base: 5 };
    expect(placesLeft({ named, others }, '2.3.0')).toEqual({
      left: { named: [place('2.2.0', 3), place('', 1)], others },
      moved: 31,
    });
  });

  it('keeps the release itself, however it is written, and what is no version', () => {
    const named = [place('v2.3', 4), place('2.3.0-rc.1', 2), place('garbage', 1)];
    expect(placesLeft({ named, others: null }, '2.3.0')).toEqual({
      left: { named, others: null },
      moved: 0,
    });
  });
});

describe('the presets', () => {
  it.each(PLAN_PRESET_NAMES)('%s is in the document as it is made', (name) => {
    const { steps, guards } = PLAN_PRESETS[name];
    const { failedPercent, revertedPercent, stuckPercent, silentPercent } = guards;
    const limits = [failedPercent, revertedPercent, stuckPercent, silentPercent];
    const told = stepsText(steps).replaceAll('\u00a0', ' ');
    const cells = [`\`${name}\``, told, ...limits.map((limit) => `${limit} %`)];
    expect(guards.silentAfterMinutes).toBe(guards.stuckAfterMinutes);
    const document = readFileSync('docs/operating/rollout-plans.md', 'utf8');
    expect(document).toContain(`| ${cells.join(' | ')} |`);
  });

  it('each rises to all devices, and holds every step as long as a signal takes to show', () => {
    for (const { steps, guards } of Object.values(PLAN_PRESETS)) {
      const rollouts = steps.map(({ rollout }) => rollout);
      expect(rollouts).toEqual([...new Set(rollouts)].toSorted((a, b) => a - b));
      expect(rollouts.at(-1)).toBe(100);
      // After the last step nobody is left to compare with.
      const shortest = Math.min(...steps.slice(0, -1).map(({ holdMinutes }) => holdMinutes));
      expect(shortest).toBeGreaterThanOrEqual(guards.silentAfterMinutes);
    }
  });
});

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
