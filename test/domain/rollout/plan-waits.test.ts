// Tests what keeps a plan from going on after a hold: guards whose condition holds, guards that cannot judge,
// and closed hours (docs/contract.md 27.2, 27.5, 27.10).

import { describe, expect, it } from 'vitest';
import { isFailure, type Outcome } from '../../../src/contract/failure.ts';
import type { RaiseHours } from '../../../src/contract/rollout-plan.ts';
import { isoTime } from '../../../src/contract/text.ts';
import { drivePlan } from '../../../src/domain/rollout/drive-plan.ts';
import { judgeHealth } from '../../../src/domain/rollout/judge-health.ts';
import { nextAtMs, type PlanState } from '../../../src/domain/rollout/plan-state.ts';
import { SERVED_AFTER_MS } from '../../../src/domain/rollout/reach-steps.ts';
import { NO_SIGNALS, type SignalCounts } from '../../../src/domain/rollout/signal-counts.ts';
import { steerPlan } from '../../../src/domain/rollout/steer-plan.ts';
import { at, guards, LIVE, planOf, START_MS, seen, unseen } from './plan-fixture.ts';

const BAD = { offered: 47, failed: 20 };
const LIMITS = { guards: guards({ failedPercent: 1, minimumDevices: 30 }) };

type Parts = Parameters<typeof planOf>[2];

/** A plan whose first step began, of these steps. */
function begun(text: string, parts: Parts = LIMITS) {
  const { state, act } = drivePlan(planOf(text, LIVE, parts), LIVE, at(0), unseen(at(0)));
  if (act?.kind !== 'raise') throw new Error('The first step did not begin');
  return { state, release: { ...LIVE, rolloutPct: act.rollout } };
}

function accepted(outcome: Outcome<PlanState>): PlanState {
  if (isFailure(outcome)) throw new Error(outcome.message);
  return outcome;
}

/** What the guards of a plan find in these figures. */
function judged(state: PlanState, counts: Partial<SignalCounts>) {
  const { guards: limits, tripped, silentOthers } = state;
  const context = { guards: limits, tripped, silentOthers, isOffered: true };
  return judgeHealth(seen(at(0), counts).counts, context);
}

describe("a guard's condition that holds (§27.5)", () => {
  it('lets no step begin and no plan complete, also before it is confirmed', () => {
    const { state, release } = begun('50:1 75:1 100:1', {
      guards: guards({ failedPercent: 1, minimumDevices: 30, confirmMinutes: 60 }),
    });
    const later = at(1, SERVED_AFTER_MS);
    const { state: waiting, act } = drivePlan(state, release, later, seen(later, BAD));
    expect(act).toBeUndefined();
    expect(waiting).toMatchObject({ status: 'running', step: 0 });
    expect(waiting.waitingFor).toEqual({
      guard: 'failed',
      since: isoTime(later.nowMs),
      reason: expect.stringMatching(/^failed: 20 of 47 devices, 42.6 % .* above the limit of 1 %$/),
    });
    expect(nextAtMs(waiting, later)).toBeNull();
    const still = drivePlan(waiting, release, at(30), seen(at(30), BAD));
    expect(still.act).toBeUndefined();
    expect(still.state.waitingFor?.since).toBe(isoTime(later.nowMs));
    const well = drivePlan(still.state, release, at(40), seen(at(40)));
    expect(well.act).toMatchObject({ kind: 'raise', rollout: 75 });
    expect(well.state.waitingFor).toBeNull();
  });

  it('is confirmed while the plan waits, and pauses the release', () => {
    const { state, release } = begun('100:1');
    const waiting = drivePlan(state, release, at(2), seen(at(2), BAD)).state;
    expect(waiting.status).toBe('running');
    const { state: held, act } = drivePlan(waiting, release, at(12), seen(at(12), BAD));
    expect(act).toMatchObject({ kind: 'pause' });
    expect(held).toMatchObject({ status: 'held', tripped: ['failed'], waitingFor: null });
  });

  it('refuses advance with the reason', () => {
    const { state, release } = begun('50:60 100:0');
    const refused = steerPlan(state, 'advance', release, at(1), judged(state, BAD));
    expect(refused).toMatchObject({
      failure: 'planRefused',
      message: expect.stringMatching(/^A guard finds the release bad: failed: 20 of 47 devices/),
    });
    expect(accepted(steerPlan(state, 'advance', release, at(1), judged(state, {}))).status).toBe(
      'running',
    );
  });

  it('is said before a guard that cannot judge', () => {
    const both = { guards: guards({ failedPercent: 1, revertedPercent: 1, minimumDevices: 30 }) };
    const { state, release } = begun('50:1 100:0', both);
    const counts = { ...BAD, installed: 3 };
    expect(drivePlan(state, release, at(5), seen(at(5), counts)).state.waitingFor?.guard).toBe(
      'failed',
    );
    const few = { offered: 3, installed: 100 };
    expect(drivePlan(state, release, at(5), seen(at(5), few)).state.waitingFor?.guard).toBe(
      'failed',
    );
  });
});

describe('a held plan (§27.5)', () => {
  it('watches on: a guard that trips adds its reason and pauses the release', () => {
    const { state, release } = begun('50:600 100:0');
    const held = accepted(steerPlan(state, 'hold', release, at(1)));
    const first = drivePlan(held, release, at(2), seen(at(2), BAD));
    expect(first).toMatchObject({ act: undefined, state: { status: 'held', reason: 'Held' } });
    const { state: tripped, act } = drivePlan(first.state, release, at(12), seen(at(12), BAD));
    expect(act?.kind).toBe('pause');
    expect(tripped).toMatchObject({ status: 'held', tripped: ['failed'] });
    expect(tripped.reason).toMatch(/^Held; failed: 20 of 47 devices/);
    const paused = { ...release, status: 'paused' } as const;
    const again = drivePlan(tripped, paused, at(30), seen(at(30), BAD));
    expect(again.act).toBeUndefined();
    expect(again.state.reason).toBe(tripped.reason);
  });

  it('with onTrip hold adds the reason and leaves the release as it is', () => {
    const { state, release } = begun('50:600 100:0', { ...LIMITS, onTrip: 'hold' });
    const held = accepted(steerPlan(state, 'hold', release, at(1)));
    const first = drivePlan(held, release, at(2), seen(at(2), BAD)).state;
    const second = drivePlan(first, release, at(12), seen(at(12), BAD));
    expect(second.act).toBeUndefined();
    expect(second.state.tripped).toEqual(['failed']);
  });

  it('confirms anew once it is resumed', () => {
    const { state, release } = begun('50:600 100:0');
    const held = accepted(steerPlan(state, 'hold', release, at(1)));
    const first = drivePlan(held, release, at(2), seen(at(2), BAD)).state;
    const resumed = accepted(steerPlan(first, 'resume', release, at(11)));
    const second = drivePlan(resumed, release, at(12), seen(at(12), BAD)).state;
    expect(second.status).toBe('running');
  });
});

describe('a guard that one network keeps from judging (§27.14)', () => {
  /** Sixty devices are well, and 200 of one network are stuck. */
  const ONE = {
    ...{ stuck: 200, stuckBase: 260 },
    networks: {
      ...NO_SIGNALS.networks,
      stuck: {
        count: 1,
        parts: [
          { hits: 200, base: 200 },
          { hits: 0, base: 1 },
        ],
      },
    },
  };
  // As many are stuck, each of a network of its own.
  const ALL = { ...ONE, networks: NO_SIGNALS.networks };
  const STUCK = { guards: guards({ stuckPercent: 2.5 }) };
  const reason = expect.stringMatching(
    /^stuck: 200 of 260 .*; without one network \(200 of its 200/,
  );

  it.each([
    ['onTrip pause', { onTrip: 'pause' }],
    ['onBlind advance', { onBlind: 'advance' }],
    ['no patience', { patienceMinutes: 0 }],
  ] as const)('holds the plan after two checks and never pauses, with %s', (_title, parts) => {
    const { state, release } = begun('50:600 100:0', { ...STUCK, ...parts });
    const first = drivePlan(state, release, at(1), seen(at(1), ONE)).state;
    const before = drivePlan(first, release, at(10), seen(at(10), ONE)).state;
    expect(before).toMatchObject({ status: 'running', reason: null });
    const { state: held, act } = drivePlan(before, release, at(11), seen(at(11), ONE));
    expect(act).toBeUndefined();
    expect(held).toMatchObject({ status: 'held', reason, tripped: [], undecided: ['stuck'] });
    const later = drivePlan(held, release, at(90), seen(at(90), ONE));
    expect(later).toMatchObject({ act: undefined, state: { reason: held.reason } });
  });

  it('holds nothing if a check between the two finds the condition not to hold', () => {
    const { state, release } = begun('50:600 100:0', STUCK);
    const first = drivePlan(state, release, at(1), seen(at(1), ONE)).state;
    const second = drivePlan(first, release, at(5), seen(at(5), { stuck: 0 })).state;
    expect(drivePlan(second, release, at(12), seen(at(12), ONE)).state.status).toBe('running');
  });

  it('lets no step begin meanwhile, and the plan says for what it waits', () => {
    const { state, release } = begun('50:1 100:0', { ...STUCK, onBlind: 'advance' });
    const { state: waiting, act } = drivePlan(state, release, at(5), seen(at(5), ONE));
    expect(act).toBeUndefined();
    expect(waiting).toMatchObject({ status: 'running', waitingFor: { guard: 'stuck', reason } });
  });

  it('once resumed begins its two checks anew', () => {
    const held = heldBy(ONE);
    const resumed = accepted(steerPlan(held.state, 'resume', held.release, at(20)));
    expect(resumed).toMatchObject({ status: 'running', undecided: [] });
    const first = drivePlan(resumed, held.release, at(21), seen(at(21), ONE)).state;
    const next = drivePlan(first, held.release, at(30), seen(at(30), ONE)).state;
    expect(next.status).toBe('running');
    const again = drivePlan(next, held.release, at(31), seen(at(31), ONE)).state;
    expect(again).toMatchObject({ status: 'held', reason });
  });

  it('is passed over by advance, for one step', () => {
    const held = heldBy(ONE);
    const resumed = accepted(steerPlan(held.state, 'resume', held.release, at(20)));
    const first = drivePlan(resumed, held.release, at(21), seen(at(21), ONE)).state;
    const judgement = judged(first, ONE);
    const pushed = accepted(steerPlan(first, 'advance', held.release, at(31), judgement));
    const { state, act } = drivePlan(pushed, held.release, at(31), seen(at(31), ONE));
    expect(act).toMatchObject({ kind: 'raise', rollout: 100 });
    const release = { ...held.release, rolloutPct: 100 };
    const next = drivePlan(state, release, at(40), seen(at(40), ONE)).state;
    expect(next.status).toBe('running');
    expect(drivePlan(next, release, at(41), seen(at(41), ONE)).state.status).toBe('held');
  });

  it('trips when it can judge, also in a plan that is held for it', () => {
    const held = heldBy(ONE);
    const first = drivePlan(held.state, held.release, at(20), seen(at(20), ALL)).state;
    const { state, act } = drivePlan(first, held.release, at(30), seen(at(30), ALL));
    expect(act?.kind).toBe('pause');
    expect(state).toMatchObject({ tripped: ['stuck'], undecided: ['stuck'] });
    expect(state.reason).toMatch(/left, and its guard needs 100; stuck: 200 of 260 devices/);
  });

  it('adds its reason once to a plan that was held by hand', () => {
    const { state, release } = begun('50:600 100:0', STUCK);
    const byHand = accepted(steerPlan(state, 'hold', release, at(1)));
    const first = drivePlan(byHand, release, at(2), seen(at(2), ONE)).state;
    const second = drivePlan(first, release, at(12), seen(at(12), ONE)).state;
    expect(second.reason).toMatch(/^Held; stuck: 200 of 260 devices/);
    const third = drivePlan(second, release, at(60), seen(at(60), ONE)).state;
    expect(third.reason).toBe(second.reason);
  });

  /** A plan that is held since minute 11 by these figures. */
  function heldBy(counts: Partial<SignalCounts>) {
    const { state, release } = begun('50:600 100:60', STUCK);
    const first = drivePlan(state, release, at(1), seen(at(1), counts)).state;
    const held = drivePlan(first, release, at(11), seen(at(11), counts)).state;
    expect(held.status).toBe('held');
    return { state: held, release };
  }
});

describe('a guard that cannot judge (§27.10)', () => {
  const few = { offered: 29 };

  it('keeps the plan waiting, and holds it when its patience is over', () => {
    const { state, release } = begun('50:1 100:0', { ...LIMITS, patienceMinutes: 60 });
    const { state: waiting, act } = drivePlan(state, release, at(5), seen(at(5), few));
    expect(act).toBeUndefined();
    const reason = 'failed: 29 devices to judge by, and its guard needs 30';
    expect(waiting.waitingFor).toEqual({ guard: 'failed', since: isoTime(at(5).nowMs), reason });
    const patient = drivePlan(waiting, release, at(64), seen(at(64), few)).state;
    expect(patient.status).toBe('running');
    const { state: held, act: none } = drivePlan(patient, release, at(65), seen(at(65), few));
    expect(none).toBeUndefined();
    expect(held).toMatchObject({ status: 'held', reason, tripped: [], waitingFor: null });
    const resumed = accepted(steerPlan(held, 'resume', release, at(70)));
    expect(drivePlan(resumed, release, at(100), seen(at(100), few)).state.status).toBe('running');
  });

  it('with a patience of 0 holds it at once', () => {
    const { state, release } = begun('50:1 100:0', { ...LIMITS, patienceMinutes: 0 });
    expect(drivePlan(state, release, at(5), seen(at(5), few)).state.status).toBe('held');
  });

  it('lets the plan wait afresh once it could judge meanwhile', () => {
    const { state, release } = begun('50:1 100:1', { ...LIMITS, patienceMinutes: 60 });
    const first = drivePlan(state, release, at(5), seen(at(5), few)).state;
    const second = drivePlan(first, release, at(50), seen(at(50))).state;
    expect(second.step).toBe(1);
    const third = drivePlan(second, { ...release, rolloutPct: 100 }, at(60), seen(at(60), few));
    const later = drivePlan(
      third.state,
      { ...release, rolloutPct: 100 },
      at(110),
      seen(at(110), few),
    );
    expect(later.state.status).toBe('running');
  });

  it('does not keep the first step of a release at 0 %, but one of a release that is out', () => {
    expect(begun('50:1').release.rolloutPct).toBe(50);
    const release = { ...LIVE, rolloutPct: 10 };
    const plan = planOf('50:1', release, LIMITS);
    const driven = drivePlan(plan, release, at(1), unseen(at(1)));
    expect(driven.act).toBeUndefined();
    expect(driven.state.waitingFor?.guard).toBe('failed');
  });

  it('does not keep a plan with onBlind advance, nor one step after advance', () => {
    const { state, release } = begun('50:1 75:1 100:1', { ...LIMITS, onBlind: 'advance' });
    expect(drivePlan(state, release, at(5), seen(at(5), few)).act).toMatchObject({ rollout: 75 });
    const own = begun('50:1 75:1 100:1');
    const waiting = drivePlan(own.state, own.release, at(5), seen(at(5), few)).state;
    const pushed = accepted(
      steerPlan(waiting, 'advance', own.release, at(6), judged(waiting, few)),
    );
    expect(pushed.waitingFor).toBeNull();
    const next = drivePlan(pushed, own.release, at(6), seen(at(6), few));
    expect(next.act).toMatchObject({ rollout: 75 });
    const after = drivePlan(next.state, { ...LIVE, rolloutPct: 75 }, at(10), seen(at(10), few));
    expect(after.act).toBeUndefined();
  });

  it('without limits there is nothing to judge', () => {
    const { state, release } = begun('50:1 100:0', { guards: guards() });
    expect(drivePlan(state, release, at(5), unseen(at(5))).act).toMatchObject({ rollout: 100 });
  });
});

describe('a region that has not recorded its check-ins (§27.13)', () => {
  const WEST = 'Check-ins of region west are not recorded yet';
  const { state, release } = begun('50:1 100:0');
  const behind = (minutes: number) => ({ ...seen(at(minutes)), seenUpToMs: 0, region: 'west' });

  it('holds the step up, which is told after half a minute; it begins once the region has caught up', () => {
    const due = drivePlan(state, release, at(1, 29_000), behind(1));
    expect(due.act).toBeUndefined();
    expect(due.state.waitingFor).toBeNull();
    const late = drivePlan(due.state, release, at(2), behind(2)).state;
    const since = isoTime(at(2).nowMs);
    expect(late.waitingFor).toEqual({ guard: null, region: 'west', since, reason: WEST });
    expect(nextAtMs(late, at(2))).toBeNull();
    expect(drivePlan(late, release, at(3), behind(3)).state.waitingFor).toEqual(late.waitingFor);
    const { state: begun, act } = drivePlan(late, release, at(4), seen(at(4)));
    expect(act).toMatchObject({ rollout: 100 });
    expect(begun.waitingFor).toBeNull();
  });

  it('holds completion up as well', () => {
    const last = begun('50:1');
    const late = drivePlan(last.state, last.release, at(2), behind(2)).state;
    expect(late).toMatchObject({ status: 'running', waitingFor: { region: 'west' } });
    expect(drivePlan(late, last.release, at(3), seen(at(3))).state.status).toBe('completed');
  });

  it('is named anew when another one is furthest behind; a wait for a guard stays', () => {
    const late = drivePlan(state, release, at(2), behind(2)).state;
    const other = { ...behind(3), region: 'east' };
    expect(drivePlan(late, release, at(3), other).state.waitingFor?.region).toBe('east');
    const judged = drivePlan(late, release, at(3), seen(at(3), BAD)).state;
    expect(judged.waitingFor).toMatchObject({ guard: 'failed', since: isoTime(at(3).nowMs) });
    expect(drivePlan(judged, release, at(4), behind(4)).state.waitingFor?.guard).toBe('failed');
  });

  it('does not hold the first step of a release at 0 % up: nobody can have told anything of it', () => {
    const startAtMs = at(5).nowMs;
    const scheduled = planOf('50:60 100:0', LIVE, { ...LIMITS, startAtMs });
    const nothing = { ...unseen(at(5)), seenUpToMs: 0 };
    const { state: begun, act } = drivePlan(scheduled, LIVE, at(5), nothing);
    expect(begun).toMatchObject({ status: 'running', step: 0 });
    expect(act).toMatchObject({ rollout: 50 });
    expect(drivePlan(scheduled, LIVE, at(5), undefined).act).toBeUndefined();
    const bad = { ...nothing, counts: { ...nothing.counts, ...BAD } };
    expect(drivePlan(scheduled, LIVE, at(5), bad).state.waitingFor?.guard).toBe('failed');
    const out = { ...LIVE, rolloutPct: 1 };
    expect(drivePlan(scheduled, out, at(5), nothing).act).toBeUndefined();
  });

  it('does not hinder a guard, which may trip on what is recorded', () => {
    const bad = (minutes: number) => ({ ...seen(at(minutes), BAD), seenUpToMs: 0, region: 'west' });
    const first = drivePlan(state, release, at(2), bad(2)).state;
    expect(drivePlan(first, release, at(12), bad(12)).state.status).toBe('held');
  });
});

describe('hours in which steps begin (§27.11)', () => {
  // The plan is made on a Friday at 0:00 UTC.
  const raiseBetween: RaiseHours = {
    ...{ days: ['fri', 'mon'], from: '09:00', to: '17:00', timeZone: 'UTC' },
  };
  const HOUR = 60;

  it('a step that is due outside waits for the next opening', () => {
    const plan = planOf('50:600 100:0', LIVE, { raiseBetween });
    expect(nextAtMs(plan, at(0))).toBe(at(9 * HOUR).nowMs);
    const closed = drivePlan(plan, LIVE, at(1), undefined);
    expect(closed.act).toBeUndefined();
    expect(closed.state.waitingFor).toEqual({
      ...{ guard: null, since: isoTime(at(1).nowMs) },
      reason: 'The hours in which steps begin are closed',
    });
    expect(nextAtMs(closed.state, at(1))).toBe(at(9 * HOUR).nowMs);
    const open = drivePlan(closed.state, LIVE, at(9 * HOUR), undefined);
    expect(open.act).toMatchObject({ rollout: 50 });
    // Its hold ends on Friday at 19:00: the next step begins on Monday.
    expect(nextAtMs(open.state, at(10 * HOUR))).toBe(at((3 * 24 + 9) * HOUR).nowMs);
  });

  it('that passed without a drive are waited for anew', () => {
    const plan = planOf('50:600 100:0', LIVE, { raiseBetween });
    const closed = drivePlan(plan, LIVE, at(1), undefined).state;
    expect(drivePlan(closed, LIVE, at(2), undefined).state.waitingFor).toEqual(closed.waitingFor);
    const missed = drivePlan(closed, LIVE, at(18 * HOUR), undefined).state;
    expect(missed.waitingFor?.since).toBe(isoTime(at(18 * HOUR).nowMs));
    const open = drivePlan(missed, LIVE, at((3 * 24 + 9) * HOUR), undefined);
    expect(open.act).toMatchObject({ rollout: 50 });
  });

  it('do not bind completion, and refuse advance', () => {
    const release = { ...LIVE, rolloutPct: 50 };
    const plan = planOf('50:60 100:0', release, { raiseBetween });
    const refused = steerPlan(plan, 'advance', release, at(1));
    expect(refused).toMatchObject({ message: 'The hours in which steps begin are closed' });
    const last = planOf('50:60', release, { raiseBetween });
    expect(drivePlan(last, release, at(60), undefined).state.status).toBe('completed');
    const open = accepted(steerPlan(plan, 'advance', release, at(9 * HOUR)));
    expect(drivePlan(open, release, at(9 * HOUR), undefined).act).toMatchObject({ rollout: 100 });
  });

  it('a scheduled plan says the opening after its start', () => {
    const startAtMs = START_MS + 20 * HOUR * 60_000;
    const plan = planOf('50:600', LIVE, { raiseBetween, startAtMs });
    expect(nextAtMs(plan, at(0))).toBe(at((3 * 24 + 9) * HOUR).nowMs);
  });
});
