// Tests rollout plans as a state machine: their start, their steps, and what people do to them and to their
// release (docs/contract.md 27.1 to 27.3). Guards and other waits: plan-waits.test.ts.

import { describe, expect, it } from 'vitest';
import { isoTime } from '../../../src/contract/text.ts';
import { firstRollout, followWithdrawal } from '../../../src/domain/rollout/follow-release.ts';
import { SERVED_AFTER_MS } from '../../../src/domain/rollout/reach-steps.ts';
import { newPlan } from '../../../src/domain/rollout/steer-plan.ts';
import {
  at,
  begun,
  definition,
  guards,
  LIVE,
  MINUTE_MS,
  PlayedPlan,
  planOf,
  START_MS,
  UNBORN,
} from './plan-fixture.ts';

/** Milliseconds after which a hold that began with a step is over. */
const HOLD_END = SERVED_AFTER_MS;
const FULL = { ...LIVE, rolloutPct: 100 };
const LATER = { startAtMs: START_MS + 90 * MINUTE_MS };

describe('making a plan (§27.1, §27.3)', () => {
  it('runs at once without startAt, or with one that is past, and else waits for it', () => {
    expect(planOf('10:60').status).toBe('running');
    expect(planOf('10:60', LIVE, { startAtMs: START_MS - 1 }).status).toBe('running');
    const plan = new PlayedPlan('10:60', LATER);
    expect(plan.nextAt(1)).toBe(LATER.startAtMs);
    expect([plan.drive(89), plan.state.status]).toEqual([undefined, 'scheduled']);
    expect(plan.drive(90)).toMatchObject({ kind: 'raise', rollout: 10 });
  });

  it('is refused on a release that is rolled back or deprecated, and starts held on a paused one', () => {
    for (const status of ['rolled_back', 'deprecated'] as const) {
      const outcome = newPlan(definition('10:60'), { ...LIVE, status }, at(0));
      expect(outcome).toMatchObject({ failure: 'planRefused' });
    }
    const paused = { status: 'held', reason: 'The release is paused' };
    expect(planOf('10:60', { ...LIVE, status: 'paused' })).toMatchObject(paused);
  });

  it('waits for a release never yet published, and for startAt as well', () => {
    const plan = new PlayedPlan('10:60', {}, UNBORN);
    const { state } = plan;
    expect([state.status, plan.nextAt(0)]).toEqual(['scheduled', null]);
    expect([plan.drive(60), plan.state]).toEqual([undefined, state]);
    plan.serve(LIVE, 61);
    expect(plan.drive(61)).toEqual({ kind: 'raise', rollout: 10, reason: 'Step 1 of 1' });
    const later = new PlayedPlan('10:60', LATER, UNBORN);
    later.serve(LIVE, 1);
    expect(later.drive(1)).toBeUndefined();
    expect(later.drive(90)).toMatchObject({ kind: 'raise' });
  });

  it('has its release first published at 0 %, whatever else the call says', () => {
    const plan = planOf('10:60', UNBORN);
    const before = { ...UNBORN, rolloutPct: 100 };
    const after = { ...before, status: 'published', wasPublished: true } as const;
    expect(firstRollout(plan, before, after)).toBe(0);
    expect(firstRollout(plan, before, { ...after, rolloutPct: 50 })).toBe(0);
    expect(firstRollout(undefined, before, after)).toBe(100);
    expect(firstRollout(plan, { ...after, status: 'paused' }, after)).toBe(100);
  });
});

describe('steps (§27.2)', () => {
  it('begin by raising the rollout, one after the other, each after the hold before it was served', () => {
    const plan = begun('10:60 50:0');
    expect(plan.release.rolloutPct).toBe(10);
    expect(plan.state.steps[0]?.startedAt).toBe(isoTime(START_MS));
    expect(plan.nextAt(0)).toBe(START_MS + 60 * MINUTE_MS + SERVED_AFTER_MS);
    expect(plan.drive(60)).toBeUndefined();
    const second = { kind: 'raise', rollout: 50, reason: 'Step 2 of 2' };
    expect(plan.drive(at(60, HOLD_END))).toEqual(second);
    expect(plan.state.step).toBe(1);
    expect(plan.state.steps[0]?.endedAt).toBe(isoTime(at(60, HOLD_END).nowMs));
    expect(plan.drive(61)).toBeUndefined();
    expect(plan.state).toMatchObject({ status: 'completed', reason: 'All steps are done' });
  });

  it('at or below the present rollout count as reached, and the last of them keeps its hold', () => {
    const plan = new PlayedPlan('10:60 20:30 50:60', {}, { ...LIVE, rolloutPct: 20 });
    const now = isoTime(START_MS);
    expect(plan.state).toMatchObject({
      ...{ status: 'running', step: 1, isReached: true },
      steps: [
        { startedAt: now, endedAt: now },
        { startedAt: now, endedAt: null },
        { startedAt: null, endedAt: null },
      ],
    });
    expect(plan.nextAt(0)).toBe(START_MS + 30 * MINUTE_MS);
    expect(plan.drive(29)).toBeUndefined();
    expect(plan.drive(30)).toMatchObject({ rollout: 50, reason: 'Step 3 of 3' });
  });

  it('are reached by a raise by hand, and the hold of the last begins then', () => {
    const plan = begun('5:1440 20:1440 100:1440');
    plan.serve({ rolloutPct: 50 }, 100);
    expect(plan.state).toMatchObject({ step: 1, isReached: true });
    const began = { startedAt: isoTime(at(100).nowMs), endedAt: null };
    expect(plan.state.steps[1]).toMatchObject(began);
    expect([plan.drive(1441), plan.drive(1539)]).toEqual([undefined, undefined]);
    expect(plan.drive(1541)).toMatchObject({ rollout: 100 });
  });

  it('that are reached while the plan is held leave the whole hold for later', () => {
    const plan = begun('5:60 20:60 100:60');
    plan.steer('hold', 50);
    plan.serve({ rolloutPct: 20 }, 300);
    expect(plan.state).toMatchObject({ status: 'held', step: 1 });
    plan.steer('resume', 400);
    expect(plan.drive(459)).toBeUndefined();
    expect(plan.drive(461)).toMatchObject({ rollout: 100 });
  });

  it('never lower the rollout, also where the plan finds it raised', () => {
    const plan = begun('10:60 50:60');
    plan.release = { ...LIVE, rolloutPct: 80 };
    expect(plan.drive(at(60, HOLD_END))).toBeUndefined();
    expect(plan.state).toMatchObject({ status: 'running', step: 1 });
    expect([plan.drive(121), plan.state.status]).toEqual([undefined, 'completed']);
  });

  it('that all are reached complete the plan after the last hold, with that as its reason', () => {
    const plan = new PlayedPlan('10:60 100:60', {}, FULL);
    expect(plan.nextAt(0)).toBe(START_MS + 60 * MINUTE_MS);
    expect([plan.drive(59), plan.state.status]).toEqual([undefined, 'running']);
    plan.drive(60);
    expect(plan.state).toMatchObject({
      ...{ status: 'completed', step: 1 },
      reason: 'Nothing was left to do: the rollout is at 100 %',
    });
  });

  it('that are reached are watched by guards for 60 minutes after the last raise, or the making', () => {
    const made = new PlayedPlan('10:60 50:240 100:5', { guards: guards() }, FULL);
    const raised = begun('10:30 100:5', { guards: guards() });
    raised.serve({ rolloutPct: 100 }, 20);
    raised.check(at(30, HOLD_END));
    expect(raised.state).toMatchObject({ status: 'running', isReached: true });
    for (const [plan, end] of [
      [made, 60],
      [raised, 80],
    ] as const) {
      expect(plan.nextAt(30)).toBe(at(end).nowMs);
      plan.check(end - 1);
      expect(plan.state.status).toBe('running');
      plan.check(end);
      expect(plan.state.status).toBe('completed');
    }
  });
});

describe('holding and going on (§27.2, §27.3)', () => {
  it('time while a plan is held does not count', () => {
    const plan = begun('10:60 50:60');
    plan.steer('hold', 20);
    const { state } = plan;
    expect(state).toMatchObject({ status: 'held', reason: 'Held' });
    expect(plan.nextAt(20)).toBeNull();
    expect([plan.drive(500), plan.state]).toEqual([undefined, state]);
    plan.steer('resume', 500);
    expect(plan.drive(539)).toBeUndefined();
    expect(plan.drive(at(540, HOLD_END))).toMatchObject({ rollout: 50 });
  });

  it('time without the ledger does not count: only counted time ends a hold', () => {
    const plan = begun('10:60 50:60');
    expect(plan.drive({ nowMs: at(600).nowMs, countedMs: 30 * MINUTE_MS })).toBeUndefined();
    const back = { nowMs: START_MS - MINUTE_MS, countedMs: 60 * MINUTE_MS + HOLD_END };
    expect(plan.drive(back)).toMatchObject({ rollout: 50 });
  });

  it('advance ends the present wait', () => {
    for (const [plan, rollout] of [
      [begun('10:60 50:60'), 50],
      [new PlayedPlan('10:60', LATER), 10],
    ] as const) {
      expect(plan.steer('advance', 1)).toBeUndefined();
      expect(plan.drive(1)).toMatchObject({ rollout });
    }
  });

  it('a pause by somebody else holds the plan, and publishing again does not resume it', () => {
    const plan = begun('10:60 50:60');
    plan.serve({ status: 'paused' }, 10);
    expect(plan.state).toMatchObject({ status: 'held', reason: 'The release was paused' });
    const words = 'The release is paused: publish it before its plan goes on';
    expect(plan.steer('resume', 11)).toBe(words);
    plan.serve({ status: 'published' }, 12);
    expect([plan.drive(600), plan.state.status]).toEqual([undefined, 'held']);
    // A node of an older version does not hold the plan; the plan finds it when it is driven.
    const found = begun('10:60 50:60');
    found.release = { ...found.release, status: 'paused' };
    expect([found.drive(90), found.state.status]).toEqual([undefined, 'held']);
  });

  it('a release that is rolled back, deprecated or withdrawn cancels it', () => {
    for (const status of ['rolled_back', 'deprecated'] as const) {
      for (const plan of [begun('10:60 50:60'), new PlayedPlan('10:60', {}, UNBORN)]) {
        plan.serve({ status }, 1);
        expect(plan.state.status).toBe('cancelled');
      }
    }
    const withdrawn = { status: 'cancelled', reason: 'The release was withdrawn' };
    expect(followWithdrawal(planOf('10:60', UNBORN))).toMatchObject(withdrawn);
  });

  it.each([
    [2, 'scheduled'],
    [91, 'running'],
  ])('a plan of a later start that is resumed at minute %i is %s', (minute, status) => {
    const plan = new PlayedPlan('10:60', LATER);
    plan.steer('hold', 1);
    plan.steer('resume', minute);
    expect(plan.state.status).toBe(status);
  });

  it('an action is refused in every other status, with the reason', () => {
    const plan = begun('10:60 50:60');
    expect(plan.steer('resume', 1)).toBe('The plan is running, not held');
    plan.steer('hold', 1);
    expect(plan.steer('hold', 1)).toBe('The plan is held');
    expect(plan.steer('advance', 1)).toBe('The plan is held: resume it first');
    expect(plan.steer('cancel', 2)).toBeUndefined();
    for (const action of ['hold', 'resume', 'advance', 'cancel'] as const) {
      expect(plan.steer(action, 3)).toBe('The plan is cancelled');
    }
    const unborn = new PlayedPlan('10:60', {}, UNBORN);
    expect(unborn.steer('advance', 1)).toBe('The release is not published yet');
  });
});
