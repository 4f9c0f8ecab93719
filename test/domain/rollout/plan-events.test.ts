// What is told of a plan after a change of its state: each fact once.

import { describe, expect, test } from 'vitest';
import type { EventType } from '../../../src/contract/notification.ts';
import type { PlanWait } from '../../../src/contract/rollout-plan.ts';
import { failurePlaces } from '../../../src/domain/rollout/failure-places.ts';
import { judgeHealth } from '../../../src/domain/rollout/judge-health.ts';
import { planEvents } from '../../../src/domain/rollout/plan-events.ts';
import type { PlanState } from '../../../src/domain/rollout/plan-state.ts';
import { NO_SIGNALS } from '../../../src/domain/rollout/signal-counts.ts';
import { guards, LIVE, planOf, UNBORN } from './plan-fixture.ts';

const RUNNING = planOf('10:60 50:60 100:0');
const AT_ONE: PlanState = { ...RUNNING, step: 0 };
const WAIT = { guard: 'failed', since: '2027-01-01T00:00:00.000Z', reason: 'too few' } as const;
const waiting = (parts: Partial<PlanWait> = {}): PlanState => ({
  ...{ ...AT_ONE, waitingFor: { ...WAIT, ...parts } },
});
const WAITING = waiting();
const HELD: PlanState = { ...AT_ONE, status: 'held', reason: 'Held' };
const TRIPPED: PlanState = { ...HELD, tripped: ['failed'] };
const NOTHING = {
  dimension: 'platform',
  ...{ failed: 0, failedBase: 0, reverted: 0, revertedBase: 0 },
  ...{ stuck: 0, stuckBase: 0, silent: 0, silentBase: 0 },
} as const;
const PAUSED = { ...LIVE, status: 'paused' } as const;

type Case = readonly [
  title: string,
  before: PlanState | undefined,
  after: PlanState,
  told: readonly EventType[],
];

const CASES: readonly Case[] = [
  ['a new plan that runs', undefined, RUNNING, ['plan.started']],
  ['a new plan that waits for its release', undefined, planOf('10:60', UNBORN), []],
  ['a new plan of a paused release', undefined, planOf('10:60', PAUSED), ['plan.held']],
  ['a new plan whose step is reached', undefined, { ...AT_ONE, isReached: true }, ['plan.started']],
  ['nothing', AT_ONE, AT_ONE, []],
  ['the start of a plan', planOf('10:60', UNBORN), RUNNING, ['plan.started']],
  ['a start with its first step', planOf('10:60', UNBORN), AT_ONE, ['plan.started', 'plan.step']],
  ['a step', AT_ONE, { ...AT_ONE, step: 1 }, ['plan.step']],
  ['a step that others reached', AT_ONE, { ...AT_ONE, step: 1, isReached: true }, []],
  ['a wait', AT_ONE, WAITING, ['plan.waiting']],
  ['the same wait, with other words', WAITING, waiting({ reason: 'fewer' }), []],
  ['a wait for another guard', WAITING, waiting({ guard: 'stuck' }), ['plan.waiting']],
  ['the end of a wait', WAITING, AT_ONE, []],
  ['a hold', AT_ONE, HELD, ['plan.held']],
  ['a hold after a wait', WAITING, HELD, ['plan.held']],
  ['the end of a hold', HELD, AT_ONE, []],
  ['a trip', AT_ONE, TRIPPED, ['plan.tripped']],
  ['a trip of a held plan', HELD, TRIPPED, ['plan.tripped']],
  ['one more trip', TRIPPED, { ...HELD, tripped: ['failed', 'stuck'] }, ['plan.tripped']],
  ['a hold for an undecided guard', AT_ONE, { ...HELD, undecided: ['failed'] }, ['plan.held']],
  ['one of a held plan', HELD, { ...HELD, undecided: ['failed'] }, ['plan.held']],
  ['one beside an undecided guard', AT_ONE, { ...TRIPPED, undecided: ['stuck'] }, ['plan.tripped']],
  ['the end of its steps', AT_ONE, { ...AT_ONE, status: 'completed' }, ['plan.completed']],
  ['a cancellation', HELD, { ...HELD, status: 'cancelled' }, ['plan.cancelled']],
];

describe('what is told of a plan (§30.1)', () => {
  test.each(CASES)('%s', (_title, before, after, told) => {
    expect(planEvents('pln_1', before, after).map(({ type }) => type)).toEqual(told);
  });

  test('a trip says the figures of each guard that has a limit', () => {
    const limits = guards({ failedPercent: 2, stuckPercent: 5 });
    const tripped = ['failed'] as const;
    const context = { guards: limits, tripped, silentOthers: null, isOffered: true };
    const judged = judgeHealth({ ...NO_SIGNALS, offered: 400, failed: 40 }, context);
    const after: PlanState = { ...HELD, guards: limits, tripped, reason: 'failed: 40 of 400' };
    const places = failurePlaces([
      { ...NOTHING, name: 'windows', failed: 40, failedBase: 100 },
      { ...NOTHING, name: 'linux', failedBase: 300 },
    ]);
    const [told] = planEvents('pln_1', AT_ONE, after, { judged, places });
    const { base, percent, low, high } = judged.health.rates.failed;
    const platform = { name: 'windows', devices: 40, base: 100, percent: 40 };
    expect(told).toMatchObject({
      type: 'plan.tripped',
      reason: 'failed: 40 of 400',
      facts: {
        plan: { id: 'pln_1', status: 'held', step: 1, steps: 3, rollout: 10 },
        guards: [
          {
            guard: 'failed',
            count: 40,
            base,
            percent,
            low,
            high,
            limit: 2,
            tripped: true,
            platform,
          },
          { guard: 'stuck', limit: 5, tripped: false, platform: null },
        ],
      },
    });
    expect({ base, percent }).toEqual({ base: 400, percent: 10 });
  });

  test('a trip counts silent devices among those that its rate is of (§27.6)', () => {
    const limits = guards({ silentPercent: 2 });
    const tripped = ['silent'] as const;
    const others = { devices: 1000, silent: 0, scale: 1 };
    const context = { guards: limits, tripped, silentOthers: others, isOffered: true };
    const compared = { hits: 80, base: 400 };
    const counts = { ...NO_SIGNALS, silent: 390, silentBase: 900, compared, others, scale: 2 };
    const judged = judgeHealth(counts, context);
    const after: PlanState = { ...HELD, guards: limits, tripped };
    const [told] = planEvents('pln_1', AT_ONE, after, { judged, places: undefined });
    const silent = { guard: 'silent', count: 160, base: 800, percent: 20 };
    expect(told).toMatchObject({ facts: { guards: [silent] } });
    expect(judged.health.silent).toBe(780);
  });
});
