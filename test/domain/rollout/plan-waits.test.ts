// Tests what keeps a plan from going on after a hold: guards whose condition holds, guards that cannot judge,
// regions and closed hours (docs/contract.md 27.2, 27.5, 27.10, 27.11, 27.13, 27.14).

import { describe, expect, it } from 'vitest';
import { PLAN_ACTIONS, type RaiseHours } from '../../../src/contract/rollout-plan.ts';
import { isoTime } from '../../../src/contract/text.ts';
import type { PlanDefinition } from '../../../src/domain/rollout/plan-state.ts';
import { SERVED_AFTER_MS } from '../../../src/domain/rollout/reach-steps.ts';
import { NO_SIGNALS, type SignalCounts } from '../../../src/domain/rollout/signal-counts.ts';
import {
  at,
  guards,
  LIVE,
  PlayedPlan,
  begun as played,
  START_MS,
  seen,
  unseen,
} from './plan-fixture.ts';

const BAD = { offered: 47, failed: 20 };
const LIMITS = { guards: guards({ failedPercent: 1, minimumDevices: 30 }) };
const STUCK = { guards: guards({ stuckPercent: 2.5 }) };
/** Figures in which as many are stuck as in `one`, each of a network of its own. */
const ALL = { stuck: 200, stuckBase: 260 };
const PARTS = [
  { hits: 200, base: 200 },
  { hits: 0, base: 1 },
];
/** Figures by the names that turns have. In `one` sixty devices are well, 200 of one network stuck. */
const FIGURES: Readonly<Record<string, Partial<SignalCounts>>> = {
  ...{ well: {}, bad: BAD, few: { offered: 29 }, all: ALL },
  one: { ...ALL, networks: { ...NO_SIGNALS.networks, stuck: { count: 1, parts: PARTS } } },
};

const begun = (text: string, parts: Partial<PlanDefinition> = {}) =>
  played(text, { ...LIMITS, ...parts });

/**
 * Plays turns such as `5 bad` (a check), `6 publish` or `7 advance few` (by these figures); returns what each
 * one did to the release, was refused with, or left of the plan.
 */
function play(plan: PlayedPlan, turns: string): string {
  const played = turns.split(', ').map((turn) => {
    const [minutes, what = '', figures] = turn.split(' ');
    const minute = Number(minutes);
    const action = PLAN_ACTIONS.find((each) => each === what);
    if (what === 'publish') plan.serve({ status: 'published' }, minute);
    else if (action !== undefined) {
      const refusal = plan.steer(
        action,
        minute,
        figures === undefined ? undefined : FIGURES[figures],
      );
      if (refusal !== undefined) return 'refused';
    } else {
      const act = plan.check(minute, FIGURES[what]);
      if (act !== undefined) return act.kind === 'raise' ? `raise ${act.rollout}` : 'pause';
    }
    const { status, waitingFor } = plan.state;
    return waitingFor === null ? status : 'waits';
  });
  return played.join(', ');
}

/** What a story may have beside the limits of its suite, by name. */
const WITH: Readonly<Record<string, Partial<PlanDefinition>>> = {
  ...{ 'onTrip hold': { onTrip: 'hold' }, 'onBlind advance': { onBlind: 'advance' } },
  ...{ 'no patience': { patienceMinutes: 0 }, 'an hour of patience': { patienceMinutes: 60 } },
  'no limits': { guards: guards() },
  'an hour to confirm': { guards: { ...LIMITS.guards, confirmMinutes: 60 } },
  'nothing to confirm': { guards: { ...LIMITS.guards, confirmMinutes: 0 } },
};

/**
 * Tests stories of two lines each: the rule, and `STEPS, WITH: turn > outcome, turn > outcome`. `WITH` may be
 * left out, and so may the outcome that the plan runs.
 */
function tellStories(text: string, limits: Partial<PlanDefinition> = LIMITS): void {
  const lines = text
    .trim()
    .split('\n')
    .map((line) => line.trim());
  const stories = lines.flatMap((rule, at) => (at % 2 === 0 ? [[rule, lines[at + 1] ?? '']] : []));
  it.each(stories)('%s', (_rule, story) => {
    const [, steps = '', name, told = ''] = /^([\d: ]+)(?:, ([^:]+))?: (.*)$/.exec(story) ?? [];
    const parts = name === undefined ? {} : WITH[name];
    if (parts === undefined) throw new Error(`No such parts: ${name}`);
    const turns = told.split(', ').map((each) => each.split(' > '));
    const plan = begun(steps, { ...limits, ...parts });
    expect(play(plan, turns.map(([turn]) => turn).join(', '))).toBe(
      turns.map(([, outcome = 'running']) => outcome).join(', '),
    );
  });
}

describe("a guard's condition that holds (§27.5)", () => {
  tellStories(`
    trips in two checks, confirmMinutes apart
    50:600 100:60: 5 bad, 14 bad, 15 bad > pause
    leaves the release as it is with onTrip hold
    50:600, onTrip hold: 5 bad, 15 bad > held
    needs two checks with confirmMinutes 0
    50:600, nothing to confirm: 5 bad, 5 bad > pause
    is confirmed anew after a check that is below the limit
    50:600: 5 bad, 9 well, 15 bad, 25 bad > pause
    is confirmed anew once resumed
    50:600: 5 bad, 15 bad > pause, 16 publish > held, 20 resume, 20 bad, 30 bad > pause
    lets no step begin, also before it is confirmed
    50:1 75:1, an hour to confirm: 2 bad > waits, 30 bad > waits, 40 well > raise 75
    lets no plan complete
    100:1, an hour to confirm: 2 bad > waits, 3 well > completed
    trips while the plan waits
    100:1: 2 bad > waits, 12 bad > pause
    trips in the check right before a step
    50:60 100:60: 5 bad, 61 bad > pause
    refuses advance
    50:600: 1 advance bad > refused, 2 advance well
    trips in a held plan, once
    50:600: 1 hold > held, 2 bad > held, 12 bad > pause, 30 bad > held
    is confirmed anew in a plan that was held
    50:600: 1 hold > held, 2 bad > held, 11 resume, 12 bad
  `);

  it('trips also while the plan only watches after its last step was reached', () => {
    const plan = new PlayedPlan('100:240', LIMITS, { ...LIVE, rolloutPct: 100 });
    expect(play(plan, '30 bad, 40 bad')).toBe('running, pause');
  });

  it('is told: by the wait and its begin, by the refusal, and by the reason of the hold', () => {
    const plan = begun('50:1 75:1 100:1');
    const later = at(1, SERVED_AFTER_MS);
    plan.check(later, BAD);
    plan.check(5, BAD);
    const reason = expect.stringMatching(
      /^failed: 20 of 47 devices, 42.6 % .* above the limit of 1 %$/,
    );
    const waitingFor = { guard: 'failed', since: isoTime(later.nowMs), reason };
    expect(plan.state.waitingFor).toEqual(waitingFor);
    expect(plan.nextAt(5)).toBeNull();
    const refusal = /^A guard finds the release bad: failed: 20 of 47 devices/;
    expect(plan.steer('advance', 5, BAD)).toMatch(refusal);
    plan.check(12, BAD);
    const held = { status: 'held', step: 0, leftMs: 0, tripped: ['failed'], waitingFor: null };
    expect(plan.state).toMatchObject({ ...held, reason });
    for (const onTrip of ['pause', 'hold'] as const) {
      const byHand = begun('50:600', { onTrip });
      play(byHand, '1 hold, 2 bad, 12 bad, 30 bad');
      expect(byHand.state).toMatchObject({ status: 'held', tripped: ['failed'] });
      expect(byHand.state.reason).toMatch(/^Held; failed: 20 of 47 devices[^;]*$/);
    }
  });

  it('is said before a guard that cannot judge', () => {
    const both = { guards: { ...LIMITS.guards, revertedPercent: 1 } };
    for (const counts of [
      { ...BAD, installed: 3 },
      { offered: 3, installed: 100 },
    ]) {
      const plan = begun('50:1 100:0', both);
      plan.check(5, counts);
      expect(plan.state.waitingFor?.guard).toBe('failed');
    }
  });
});

it('a step begins only after a check on a record that has caught up to the end of the hold (§27.2)', () => {
  const plan = begun('50:60 100:60');
  const end = at(60, SERVED_AFTER_MS);
  expect(plan.drive(end)).toBeUndefined();
  expect(plan.drive(70, seen(at(60)))).toBeUndefined();
  expect(plan.drive(70, seen(end))).toMatchObject({ rollout: 100 });
});

describe('a guard that one network keeps from judging (§27.14)', () => {
  const HELD = '1 one, 11 one';

  tellStories(
    `
    holds a plan with onTrip pause after two checks
    50:600: 1 one, 10 one, 11 one > held, 90 one > held
    holds one with onBlind advance
    50:600, onBlind advance: 1 one, 11 one > held
    holds one without patience
    50:600, no patience: 1 one, 11 one > held
    holds nothing if the condition does not hold between
    50:600: 1 one, 5 well, 12 one
    lets no step begin meanwhile
    50:1 100:0, onBlind advance: 5 one > waits
    begins its two checks anew once resumed
    50:600: 1 one, 11 one > held, 20 resume, 21 one, 30 one, 31 one > held
    is passed over by advance, for one step
    50:600 100:60: 21 one, 31 advance one, 31 one > raise 100, 40 one, 41 one > held
    trips when it can judge, also in a plan that is held for it
    50:600: 1 one, 11 one > held, 20 all > held, 30 all > pause
  `,
    STUCK,
  );

  it('is told: by the wait, and once by the reason of a plan, also of one that was held by hand', () => {
    const told = 'stuck: 200 of 260 [^;]*; without one network \\(200 of its 200[^;]*';
    const reasonOf = (turns: string, steps = '50:600') => {
      const plan = begun(steps, STUCK);
      play(plan, turns);
      return plan.state.waitingFor?.reason ?? plan.state.reason;
    };
    expect(reasonOf('5 one', '50:1 100:0')).toMatch(new RegExp(`^${told}$`));
    expect(reasonOf(`${HELD}, 90 one`)).toMatch(new RegExp(`^${told}$`));
    expect(reasonOf(`1 hold, 2 one, 12 one, 60 one`)).toMatch(new RegExp(`^Held; ${told}$`));
    expect(reasonOf(`${HELD}, 20 all, 30 all`)).toMatch(new RegExp(`^${told}; stuck: 200 of 260`));
    const plan = begun('50:600', STUCK);
    play(plan, HELD);
    expect(plan.state).toMatchObject({ tripped: [], undecided: ['stuck'] });
    play(plan, '20 all, 30 all');
    expect(plan.state).toMatchObject({ tripped: ['stuck'], undecided: ['stuck'] });
  });
});

describe('a guard that cannot judge (§27.10)', () => {
  tellStories(`
    keeps the plan waiting, and holds it when its patience is over; resumed, it waits anew
    50:1 100:0, an hour of patience: 5 few > waits, 64 few > waits, 65 few > held, 70 resume, 99 few > waits
    holds it at once without patience
    50:1 100:0, no patience: 5 few > held
    lets it wait afresh once it could judge meanwhile
    50:1 100:1, an hour of patience: 5 few > waits, 50 well > raise 100, 60 few > waits, 110 few > waits
    does not keep a plan with onBlind advance
    50:1 75:1, onBlind advance: 5 few > raise 75
    does not keep a plan without limits
    50:1 75:1, no limits: 5 few > raise 75
    does not keep one step after advance
    50:1 75:1 100:1: 5 few > waits, 6 advance few, 6 few > raise 75, 10 few > waits
  `);

  it('is told, and never trips; it keeps the first step only of a release that is out', () => {
    const plan = begun('50:1 100:0', { patienceMinutes: 60 });
    const reason = 'failed: 29 devices to judge by, and its guard needs 30';
    play(plan, '5 few');
    const since = isoTime(at(5).nowMs);
    expect(plan.state.waitingFor).toEqual({ guard: 'failed', since, reason });
    play(plan, '65 few');
    expect(plan.state).toMatchObject({ status: 'held', reason, tripped: [] });
    const out = new PlayedPlan('50:1', LIMITS, { ...LIVE, rolloutPct: 10 });
    expect(out.drive(1, unseen(at(1)))).toBeUndefined();
    expect(out.state.waitingFor?.guard).toBe('failed');
  });
});

describe('a region that has not recorded its check-ins (§27.13)', () => {
  const behind = (minutes: number, region = 'west', counts = {}) => ({
    ...{ ...seen(at(minutes), counts), seenUpToMs: 0, region },
  });

  it('holds the step up, which is told after half a minute; it begins once the region has caught up', () => {
    const plan = begun('50:1 100:0');
    expect(plan.drive(at(1, 29_000), behind(1))).toBeUndefined();
    expect(plan.state.waitingFor).toBeNull();
    plan.drive(2, behind(2));
    const reason = 'Check-ins of region west are not recorded yet';
    const wait = { guard: null, region: 'west', since: isoTime(at(2).nowMs), reason };
    expect(plan.state.waitingFor).toEqual(wait);
    expect(plan.nextAt(2)).toBeNull();
    plan.drive(3, behind(3));
    expect(plan.state.waitingFor).toEqual(wait);
    expect(plan.check(4)).toMatchObject({ rollout: 100 });
    expect(plan.state.waitingFor).toBeNull();
  });

  it('holds completion up as well', () => {
    const plan = begun('50:1');
    plan.drive(2, behind(2));
    expect(plan.state).toMatchObject({ status: 'running', waitingFor: { region: 'west' } });
    plan.check(3);
    expect(plan.state.status).toBe('completed');
  });

  it('is named anew when another one is furthest behind; a wait for a guard stays', () => {
    const plan = begun('50:1 100:0');
    plan.drive(2, behind(2));
    plan.drive(3, behind(3, 'east'));
    expect(plan.state.waitingFor?.region).toBe('east');
    plan.check(3, BAD);
    const guard = { guard: 'failed', since: isoTime(at(3).nowMs) };
    expect(plan.state.waitingFor).toMatchObject(guard);
    plan.drive(4, behind(4));
    expect(plan.state.waitingFor).toMatchObject(guard);
  });

  it('does not hold the first step of a release at 0 % up: nobody can have told anything of it', () => {
    const later = { ...LIMITS, startAtMs: at(5).nowMs };
    const nothing = { ...unseen(at(5)), seenUpToMs: 0 };
    expect(new PlayedPlan('50:60', later).drive(5, nothing)).toMatchObject({ rollout: 50 });
    expect(new PlayedPlan('50:60', later).drive(5)).toBeUndefined();
    const bad = new PlayedPlan('50:60', later);
    bad.drive(5, { ...nothing, counts: { ...nothing.counts, ...BAD } });
    expect(bad.state.waitingFor?.guard).toBe('failed');
    const out = new PlayedPlan('50:60', later, { ...LIVE, rolloutPct: 1 });
    expect(out.drive(5, nothing)).toBeUndefined();
  });

  it('does not hinder a guard, which may trip on what is recorded', () => {
    const plan = begun('50:1 100:0');
    for (const minute of [2, 12]) plan.drive(minute, behind(minute, 'west', BAD));
    expect(plan.state.status).toBe('held');
  });
});

describe('hours in which steps begin (§27.11)', () => {
  // The plan is made on a Friday at 0:00 UTC.
  const raiseBetween: RaiseHours = {
    ...{ days: ['fri', 'mon'], from: '09:00', to: '17:00', timeZone: 'UTC' },
  };
  const HOUR = 60;
  const MONDAY = (3 * 24 + 9) * HOUR;

  it('a step that is due outside waits for the next opening', () => {
    const plan = new PlayedPlan('50:600 100:0', { raiseBetween });
    expect(plan.nextAt(0)).toBe(at(9 * HOUR).nowMs);
    expect(plan.drive(1)).toBeUndefined();
    expect(plan.state.waitingFor).toEqual({
      ...{ guard: null, since: isoTime(at(1).nowMs) },
      reason: 'The hours in which steps begin are closed',
    });
    expect(plan.nextAt(1)).toBe(at(9 * HOUR).nowMs);
    expect(plan.drive(9 * HOUR)).toMatchObject({ rollout: 50 });
    // Its hold ends on Friday at 19:00: the next step begins on Monday.
    expect(plan.nextAt(10 * HOUR)).toBe(at(MONDAY).nowMs);
  });

  it('that passed without a drive are waited for anew', () => {
    const plan = new PlayedPlan('50:600 100:0', { raiseBetween });
    const since: (string | undefined)[] = [];
    for (const minute of [1, 2, 18 * HOUR]) {
      plan.drive(minute);
      since.push(plan.state.waitingFor?.since);
    }
    expect(since).toEqual([1, 1, 18 * HOUR].map((minute) => isoTime(at(minute).nowMs)));
    expect(plan.drive(MONDAY)).toMatchObject({ rollout: 50 });
  });

  it('do not bind completion, and refuse advance', () => {
    const release = { ...LIVE, rolloutPct: 50 };
    const plan = new PlayedPlan('50:60 100:0', { raiseBetween }, release);
    expect(plan.steer('advance', 1)).toBe('The hours in which steps begin are closed');
    expect(plan.steer('advance', 9 * HOUR)).toBeUndefined();
    expect(plan.drive(9 * HOUR)).toMatchObject({ rollout: 100 });
    const last = new PlayedPlan('50:60', { raiseBetween }, release);
    last.drive(60);
    expect(last.state.status).toBe('completed');
  });

  it('give a scheduled plan the opening after its start', () => {
    const startAtMs = START_MS + 20 * HOUR * 60_000;
    const plan = new PlayedPlan('50:600', { raiseBetween, startAtMs });
    expect(plan.nextAt(0)).toBe(at(MONDAY).nowMs);
  });
});
