// Tests rollout plans as a state machine, one test for each rule (docs/contract.md 27.1 to 27.4).

import { describe, expect, it } from 'vitest';
import { isFailure, type Outcome } from '../../../src/contract/failure.ts';
import { isoTime } from '../../../src/contract/text.ts';
import { drivePlan, type PlanEvidence } from '../../../src/domain/rollout/drive-plan.ts';
import {
  firstRollout,
  followRelease,
  followWithdrawal,
} from '../../../src/domain/rollout/follow-release.ts';
import {
  nextAtMs,
  type PlannedRelease,
  type PlanState,
} from '../../../src/domain/rollout/plan-state.ts';
import { SERVED_AFTER_MS } from '../../../src/domain/rollout/reach-steps.ts';
import { newPlan, steerPlan } from '../../../src/domain/rollout/steer-plan.ts';
import {
  at,
  definition,
  guards,
  LIVE,
  MINUTE_MS,
  planOf,
  START_MS,
  seen,
  UNBORN,
} from './plan-fixture.ts';

const NO_EVIDENCE: PlanEvidence | undefined = undefined;
/** Milliseconds after which a hold that began with a step is over. */
const HOLD_END = SERVED_AFTER_MS;

function drive(state: PlanState, release: PlannedRelease, time = at(0), evidence = NO_EVIDENCE) {
  return drivePlan(state, release, time, evidence);
}

function accepted(outcome: Outcome<PlanState>): PlanState {
  if (isFailure(outcome)) throw new Error(outcome.message);
  return outcome;
}

/** Returns a plan whose first step is under way, with the release as that step left it. */
function begun(text: string, parts: Parameters<typeof planOf>[2] = {}) {
  const plan = planOf(text, LIVE, parts);
  const { state, act } = drivePlan(plan, LIVE, at(0), seen(at(0)));
  if (act?.kind !== 'raise') throw new Error('The first step did not begin');
  return { state, release: { ...LIVE, rolloutPct: act.rollout } };
}

describe('making a plan (§27.1)', () => {
  it('runs at once without startAt, or with one that is past', () => {
    expect(planOf('10:60').status).toBe('running');
    expect(planOf('10:60', LIVE, { startAtMs: START_MS - 1 }).status).toBe('running');
  });

  it('waits for startAt', () => {
    const plan = planOf('10:60', LIVE, { startAtMs: START_MS + 5 * MINUTE_MS });
    expect(plan.status).toBe('scheduled');
    expect(nextAtMs(plan, at(1))).toBe(START_MS + 5 * MINUTE_MS);
    expect(drive(plan, LIVE, at(4)).state.status).toBe('scheduled');
    expect(drive(plan, LIVE, at(5)).act).toMatchObject({ kind: 'raise', rollout: 10 });
  });

  it('starts held on a release that was published and is paused', () => {
    expect(planOf('10:60', { ...LIVE, status: 'paused' })).toMatchObject({
      ...{ status: 'held', reason: 'The release is paused' },
    });
  });

  it.each(['rolled_back', 'deprecated'] as const)(
    'is refused on a release that is %s',
    (status) => {
      const outcome = newPlan(definition('10:60'), { ...LIVE, status }, at(0));
      expect(outcome).toMatchObject({ failure: 'planRefused' });
    },
  );
});

describe('a release never yet published (§27.3)', () => {
  it('is waited for, and starts when it is first published', () => {
    const plan = planOf('10:60', UNBORN);
    expect(plan.status).toBe('scheduled');
    expect(nextAtMs(plan, at(0))).toBeNull();
    expect(drive(plan, UNBORN, at(60))).toEqual({ state: plan, act: undefined });
    const driven = drive(plan, LIVE, at(61));
    expect(driven.act).toEqual({ kind: 'raise', rollout: 10, reason: 'Step 1 of 1' });
  });

  it('is first published at 0 %, whatever else the call says (§27.3)', () => {
    const plan = planOf('10:60', UNBORN);
    const before = { ...UNBORN, rolloutPct: 100 };
    const after = { ...before, status: 'published', wasPublished: true } as const;
    expect(firstRollout(plan, before, after)).toBe(0);
    expect(firstRollout(plan, before, { ...after, rolloutPct: 50 })).toBe(0);
    expect(firstRollout(undefined, before, after)).toBe(100);
    expect(firstRollout(plan, { ...after, status: 'paused' }, after)).toBe(100);
  });

  it('waits for startAt as well', () => {
    const plan = planOf('10:60', UNBORN, { startAtMs: START_MS + 5 * MINUTE_MS });
    expect(drive(plan, LIVE, at(1)).act).toBeUndefined();
    expect(drive(plan, LIVE, at(5)).act).toMatchObject({ kind: 'raise' });
  });
});

describe('steps (§27.2)', () => {
  it('begin by raising the rollout, one after the other, each after the hold before it', () => {
    const first = begun('10:60 50:30 100:0');
    expect(first.release.rolloutPct).toBe(10);
    expect(first.state.steps[0]?.startedAt).toBe(isoTime(START_MS));
    expect(drive(first.state, first.release, at(60)).act).toBeUndefined();
    const second = drive(first.state, first.release, at(60, HOLD_END));
    expect(second.act).toMatchObject({ kind: 'raise', rollout: 50, reason: 'Step 2 of 3' });
    expect(second.state.step).toBe(1);
    expect(second.state.steps[0]?.endedAt).toBe(isoTime(at(60, HOLD_END).nowMs));
  });

  it('the hold begins when the change is served', () => {
    const { state } = begun('10:60 50:30');
    expect(nextAtMs(state, at(0))).toBe(START_MS + 60 * MINUTE_MS + SERVED_AFTER_MS);
  });

  it("after the last step's hold the plan is completed", () => {
    const { state, release } = begun('100:0');
    const { state: end, act } = drive(state, release, at(0, HOLD_END));
    expect(end).toMatchObject({ status: 'completed', reason: 'All steps are done' });
    expect(act).toBeUndefined();
  });

  it('a step at or below the present rollout counts as reached, and the last one keeps its hold', () => {
    const release = { ...LIVE, rolloutPct: 20 };
    const plan = planOf('10:60 20:30 50:60', release);
    expect(plan).toMatchObject({ status: 'running', step: 1, isReached: true });
    const [first, second, third] = plan.steps;
    const now = isoTime(START_MS);
    expect(first).toMatchObject({ startedAt: now, endedAt: now });
    expect(second).toMatchObject({ startedAt: now, endedAt: null });
    expect(third).toMatchObject({ startedAt: null, endedAt: null });
    expect(nextAtMs(plan, at(0))).toBe(START_MS + 30 * MINUTE_MS);
    expect(drive(plan, release, at(29)).act).toBeUndefined();
    const driven = drive(plan, release, at(30));
    expect(driven.act).toMatchObject({ rollout: 50, reason: 'Step 3 of 3' });
  });

  it('a raise by hand reaches steps, the last of which has its hold from then on', () => {
    const { state, release } = begun('5:1440 20:1440 100:1440');
    const raised = { ...release, rolloutPct: 50 };
    const followed = followRelease(state, release, raised, at(100));
    expect(followed).toMatchObject({ step: 1, isReached: true });
    expect(followed.steps[1]).toMatchObject({ startedAt: isoTime(at(100).nowMs), endedAt: null });
    expect(drive(followed, raised, at(1441)).act).toBeUndefined();
    expect(drive(followed, raised, at(1539)).act).toBeUndefined();
    expect(drive(followed, raised, at(1541)).act).toMatchObject({ rollout: 100 });
  });

  it('a raise by hand while the plan is held leaves the whole hold for later', () => {
    const { state, release } = begun('5:60 20:60 100:60');
    const held = accepted(steerPlan(state, 'hold', release, at(50)));
    const raised = { ...release, rolloutPct: 20 };
    const followed = followRelease(held, release, raised, at(300));
    expect(followed).toMatchObject({ status: 'held', step: 1 });
    const resumed = accepted(steerPlan(followed, 'resume', raised, at(400)));
    expect(drive(resumed, raised, at(459)).act).toBeUndefined();
    expect(drive(resumed, raised, at(461)).act).toMatchObject({ rollout: 100 });
  });

  it('never lower the rollout, also when a person has raised it meanwhile', () => {
    const { state } = begun('10:60 50:60');
    const raised = { ...LIVE, rolloutPct: 80 };
    const reached = drive(state, raised, at(60, HOLD_END));
    expect(reached).toMatchObject({ act: undefined, state: { status: 'running', step: 1 } });
    const driven = drive(reached.state, raised, at(121));
    expect(driven.act).toBeUndefined();
    expect(driven.state.status).toBe('completed');
  });

  it('a plan whose steps are all reached is completed after the last hold, with that as its reason', () => {
    const full = { ...LIVE, rolloutPct: 100 };
    const plan = planOf('10:60 100:60', full);
    expect(nextAtMs(plan, at(0))).toBe(START_MS + 60 * MINUTE_MS);
    expect(drive(plan, full, at(59)).state.status).toBe('running');
    expect(drive(plan, full, at(60)).state).toMatchObject({
      ...{ status: 'completed', step: 1 },
      reason: 'Nothing was left to do: the rollout is at 100 %',
    });
  });

  it('with guards it is completed 60 minutes after it was made at the earliest', () => {
    const full = { ...LIVE, rolloutPct: 100 };
    const plan = planOf('10:60 50:240 100:5', full, { guards: guards() });
    expect(nextAtMs(plan, at(0))).toBe(START_MS + 60 * MINUTE_MS);
    expect(drive(plan, full, at(59), seen(at(59))).state.status).toBe('running');
    expect(drive(plan, full, at(60), seen(at(60))).state.status).toBe('completed');
  });

  it('with guards it is completed 60 minutes after the last raise by hand at the earliest', () => {
    const { state, release } = begun('10:30 100:5', { guards: guards() });
    const raised = { ...release, rolloutPct: 100 };
    const followed = followRelease(state, release, raised, at(20));
    const later = at(30, HOLD_END);
    const watching = drive(followed, raised, later, seen(later)).state;
    expect(watching).toMatchObject({ status: 'running', isReached: true });
    expect(nextAtMs(watching, later)).toBe(at(80).nowMs);
    expect(drive(watching, raised, at(79), seen(at(79))).state.status).toBe('running');
    expect(drive(watching, raised, at(80), seen(at(80))).state.status).toBe('completed');
  });
});

describe('holding and going on (§27.3)', () => {
  it('time while a plan is held does not count', () => {
    const { state, release } = begun('10:60 50:60');
    const held = accepted(steerPlan(state, 'hold', release, at(20)));
    expect(held).toMatchObject({ status: 'held', reason: 'Held' });
    expect(nextAtMs(held, at(20))).toBeNull();
    expect(drive(held, release, at(500))).toEqual({ state: held, act: undefined });
    const resumed = accepted(steerPlan(held, 'resume', release, at(500)));
    expect(drive(resumed, release, at(539)).act).toBeUndefined();
    expect(drive(resumed, release, at(540, HOLD_END)).act).toMatchObject({ rollout: 50 });
  });

  it('time without the ledger does not count: only counted time ends a hold', () => {
    const { state, release } = begun('10:60 50:60');
    const outage = { nowMs: at(600).nowMs, countedMs: 30 * MINUTE_MS };
    expect(drive(state, release, outage).act).toBeUndefined();
    const back = { nowMs: START_MS - MINUTE_MS, countedMs: 60 * MINUTE_MS + HOLD_END };
    expect(drive(state, release, back).act).toMatchObject({ rollout: 50 });
  });

  it('advance ends the present wait', () => {
    const { state, release } = begun('10:60 50:60');
    const advanced = accepted(steerPlan(state, 'advance', release, at(1)));
    expect(drive(advanced, release, at(1)).act).toMatchObject({ rollout: 50 });
    const later = planOf('10:60', LIVE, { startAtMs: START_MS + 500 * MINUTE_MS });
    const begins = accepted(steerPlan(later, 'advance', LIVE, at(1)));
    expect(drive(begins, LIVE, at(1)).act).toMatchObject({ rollout: 10 });
  });

  it('pausing by somebody else holds the plan, and publishing again does not resume it', () => {
    const { state, release } = begun('10:60 50:60');
    const paused = { ...release, status: 'paused' } as const;
    const held = followRelease(state, release, paused, at(10));
    expect(held).toMatchObject({ status: 'held', reason: 'The release was paused' });
    const again = followRelease(held, paused, release, at(11));
    expect(again.status).toBe('held');
    expect(drive(again, release, at(600)).act).toBeUndefined();
  });

  it.each(['rolled_back', 'deprecated'] as const)('%s cancels it', (status) => {
    const { state, release } = begun('10:60 50:60');
    expect(followRelease(state, release, { ...release, status }, at(1)).status).toBe('cancelled');
    const plan = planOf('10:60', UNBORN);
    expect(followRelease(plan, UNBORN, { ...UNBORN, status }, at(1)).status).toBe('cancelled');
  });

  it('a withdrawn release cancels its plan', () => {
    expect(followWithdrawal(planOf('10:60', UNBORN))).toMatchObject({
      ...{ status: 'cancelled', reason: 'The release was withdrawn' },
    });
  });

  it('a plan never un-pauses a release that somebody else paused', () => {
    const { state, release } = begun('10:60 50:60');
    const paused = { ...release, status: 'paused' } as const;
    // A node of an older version does not hold the plan; the plan finds it when it is driven.
    const driven = drive(state, paused, at(90));
    expect(driven).toMatchObject({ state: { status: 'held' }, act: undefined });
    expect(steerPlan(driven.state, 'resume', paused, at(91))).toMatchObject({
      ...{ failure: 'planRefused' },
      message: 'The release is paused: publish it before its plan goes on',
    });
  });

  it('a plan of a later start that is resumed before it is scheduled again', () => {
    const plan = planOf('10:60', LIVE, { startAtMs: START_MS + 90 * MINUTE_MS });
    const held = accepted(steerPlan(plan, 'hold', LIVE, at(1)));
    expect(accepted(steerPlan(held, 'resume', LIVE, at(2))).status).toBe('scheduled');
    expect(accepted(steerPlan(held, 'resume', LIVE, at(91))).status).toBe('running');
  });

  it('an action is refused in every other status, with the reason', () => {
    const { state, release } = begun('10:60 50:60');
    const held = accepted(steerPlan(state, 'hold', release, at(1)));
    const cancelled = accepted(steerPlan(state, 'cancel', release, at(1)));
    const refused = (plan: PlanState, action: Parameters<typeof steerPlan>[1]) =>
      steerPlan(plan, action, release, at(1));
    expect(refused(held, 'hold')).toMatchObject({ message: 'The plan is held' });
    expect(refused(held, 'advance')).toMatchObject({
      message: 'The plan is held: resume it first',
    });
    expect(refused(state, 'resume')).toMatchObject({ message: 'The plan is running, not held' });
    for (const action of ['hold', 'resume', 'advance', 'cancel'] as const) {
      expect(refused(cancelled, action)).toMatchObject({ message: 'The plan is cancelled' });
    }
    expect(steerPlan(planOf('10:60', UNBORN), 'advance', UNBORN, at(1))).toMatchObject({
      ...{ failure: 'planRefused' },
    });
    expect(accepted(steerPlan(held, 'cancel', release, at(2))).status).toBe('cancelled');
  });
});

describe('guards (§27.5)', () => {
  const bad = { offered: 1000, failed: 100 };
  const limits = { guards: guards({ failedPercent: 3, confirmMinutes: 10 }) };

  it('trip in two checks at least confirmMinutes apart, and pause the release', () => {
    const { state, release } = begun('10:60 50:60', limits);
    const first = drive(state, release, at(5), seen(at(5), bad)).state;
    expect(first.status).toBe('running');
    const soon = drive(first, release, at(14), seen(at(14), bad)).state;
    expect(soon.status).toBe('running');
    const tripped = drive(soon, release, at(15), seen(at(15), bad));
    expect(tripped.act?.kind).toBe('pause');
    expect(tripped.state).toMatchObject({ status: 'held', tripped: ['failed'] });
    expect(tripped.state.reason).toMatch(/^failed: 100 of 1000 devices, 10 %/);
  });

  it('with confirmMinutes 0 two checks are needed all the same', () => {
    const parts = { guards: guards({ failedPercent: 3, confirmMinutes: 0 }) };
    const { state, release } = begun('10:60 50:60', parts);
    const first = drive(state, release, at(5), seen(at(5), bad)).state;
    expect(first.status).toBe('running');
    expect(drive(first, release, at(5), seen(at(5), bad)).state.status).toBe('held');
  });

  it('onTrip hold leaves the release as it is', () => {
    const { state, release } = begun('10:60 50:60', { ...limits, onTrip: 'hold' });
    const first = drive(state, release, at(5), seen(at(5), bad)).state;
    const tripped = drive(first, release, at(15), seen(at(15), bad));
    expect(tripped.act).toBeUndefined();
    expect(tripped.state.status).toBe('held');
  });

  it('a check between that is below the limit begins the confirmation anew', () => {
    const { state, release } = begun('10:60 50:60', limits);
    const first = drive(state, release, at(5), seen(at(5), bad)).state;
    const well = drive(first, release, at(10), seen(at(10), { offered: 1000 })).state;
    const again = drive(well, release, at(15), seen(at(15), bad)).state;
    expect(again.status).toBe('running');
    expect(drive(again, release, at(25), seen(at(25), bad)).state.status).toBe('held');
  });

  it('a step begins only after a check on a record that has caught up to the end of the hold', () => {
    const { state, release } = begun('10:60 50:60', limits);
    const end = at(60, HOLD_END);
    expect(drive(state, release, end).act).toBeUndefined();
    expect(drive(state, release, at(70), seen(at(60))).act).toBeUndefined();
    expect(drive(state, release, at(70), seen(end)).act).toMatchObject({ rollout: 50 });
  });

  it('a check right before a step that trips holds the plan instead', () => {
    const { state, release } = begun('10:60 50:60', limits);
    const first = drive(state, release, at(5), seen(at(5), bad)).state;
    const end = at(60, HOLD_END);
    const driven = drive(first, release, end, seen(end, bad));
    expect(driven.act?.kind).toBe('pause');
    expect(driven.state).toMatchObject({ status: 'held', step: 0, leftMs: 0 });
  });

  it('a plan that is resumed after a trip confirms it anew', () => {
    const { state, release } = begun('10:60 50:60', limits);
    const first = drive(state, release, at(5), seen(at(5), bad)).state;
    const tripped = drive(first, release, at(15), seen(at(15), bad)).state;
    const resumed = accepted(steerPlan(tripped, 'resume', release, at(20)));
    expect(resumed.tripped).toEqual([]);
    const once = drive(resumed, release, at(20), seen(at(20), bad)).state;
    expect(once.status).toBe('running');
    expect(drive(once, release, at(30), seen(at(30), bad)).state.status).toBe('held');
  });

  it('trip while the plan only watches after its last step was reached', () => {
    const full = { ...LIVE, rolloutPct: 100 };
    const watching = drive(planOf('100:240', full, limits), full, at(0), seen(at(0))).state;
    const first = drive(watching, full, at(30), seen(at(30), bad)).state;
    expect(drive(first, full, at(40), seen(at(40), bad)).state.status).toBe('held');
  });
});
