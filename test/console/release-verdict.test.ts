// Tests which action the state of a release allows, in which order and with which look, and the verdict on
// it: the words of its plan and signals say what is, not what is set.

import { describe, expect, it } from 'vitest';
import {
  afterRaise,
  judgedText,
  networkText,
  silentText,
  tooEarlyText,
} from '../../src/console/format/plan-words.ts';
import {
  type ActionState,
  actionLabel,
  actionTone,
  type ReleaseAction,
  releaseActions,
} from '../../src/console/format/release-actions.ts';
import { releaseVerdict } from '../../src/console/format/release-verdict.ts';
import type { PlanAndHealth } from '../../src/contract/console.ts';
import type { Health, PlanStep, RolloutPlan, SignalRate } from '../../src/contract/rollout-plan.ts';
import type { ReleaseStanding, StandingState } from '../../src/contract/standing.ts';

const FRESH: ActionState = {
  ...{ status: 'published', offered: false, hold: null, state: 'serving' },
  ...{ isUnhealthy: false, isArchived: false, hasOther: true, hasDdi: false },
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
    [
      'of a channel that answers DDI (§34.52)',
      { hasDdi: true },
      'pause rollback next promote retry deprecate withdraw',
    ],
    [
      'paused, of a channel that answers DDI',
      { ...PAUSED, hasDdi: true },
      'resume rollback next promote deprecate withdraw',
    ],
    ['paused', PAUSED, 'resume rollback next promote deprecate withdraw'],
    ['stopped by its guard', GUARDED, 'rollback resume next promote deprecate withdraw'],
    [
      'paused and unhealthy',
      { ...PAUSED, isUnhealthy: true },
      'rollback resume next promote deprecate withdraw',
    ],
    ['deprecated', DEPRECATED, 'resume rollback next'],
    ['rolled back', ROLLED_BACK, 'next'],
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
    ['resume', 'that waits for its files', { ...PAUSED, hold: 'expecting' }, 'plain'],
    ['resume', 'stopped by its guard', GUARDED, 'plain'],
    ['resume', 'deprecated', DEPRECATED, 'plain'],
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

const AT = '2026-01-01T00:00:00.000Z';
const NO_RATE: SignalRate = {
  base: 0,
  percent: 0,
  low: 0,
  high: 0,
  limit: null,
  tripped: false,
  network: null,
};
const ENOUGH: SignalRate = { ...NO_RATE, base: 500, percent: 0.4, low: 0.1, high: 0.9, limit: 2 };
const STUCK: SignalRate = {
  ...ENOUGH,
  percent: 14.6,
  low: 11,
  high: 18,
  limit: 2.5,
  tripped: true,
};
const OF_ONE_NETWORK: SignalRate = { ...STUCK, network: { count: 200, base: 201 } };

function health(verdict: Health['verdict'], rates: Partial<Health['rates']> = {}): Health {
  return {
    ...{ offered: 698, installed: 0, failed: 0, reverted: 0, stuck: 0, silent: 0, verdict },
    rates: { failed: ENOUGH, reverted: ENOUGH, stuck: ENOUGH, silent: ENOUGH, ...rates },
  };
}

const PLAN: RolloutPlan = {
  ...{ id: 'pln_1', app: 'notes', channel: 'stable', version: '1.0.0', status: 'running' },
  steps: [
    { rollout: 5, holdMinutes: 60, startedAt: AT, endedAt: AT },
    { rollout: 20, holdMinutes: 60, startedAt: AT, endedAt: null },
    { rollout: 100, holdMinutes: 60, startedAt: null, endedAt: null },
  ],
  ...{ reason: null, step: 1, nextAt: AT, waitingFor: null, onTrip: 'pause', onBlind: 'hold' },
  ...{ patienceMinutes: 1440, raiseBetween: null, preset: null, createdAt: AT, createdBy: 'x' },
  guards: {
    ...{ minimumDevices: 100, stuckPercent: 2.5, stuckAfterMinutes: 1440 },
    ...{ silentAfterMinutes: 1440, knownForMinutes: 1440, confirmMinutes: 10 },
  },
};

function verdict(
  state: StandingState,
  standing: Partial<ReleaseStanding> = {},
  planned: Partial<PlanAndHealth> = {},
  of: Partial<Parameters<typeof releaseVerdict>[0]> = {},
) {
  const nowhere = { on: [], supersededBy: null, wayDownFor: [], change: null };
  return releaseVerdict({
    rolloutPct: 50,
    standing: { ...nowhere, state, ...standing },
    planned: { plan: null, health: health('healthy'), ...planned },
    ...{ hold: null, history: [], ...of },
  });
}

const change = (by: string, reason: string | null = null) => ({ change: { at: AT, by, reason } });

describe('the verdict on a release', () => {
  it('that its guard stopped names the guard, since when, and that nothing happens by itself', () => {
    const reason = 'stuck: 31 of 212 devices, 14.6 %, above the limit of 2.5 %';
    const planned = { plan: { ...PLAN, status: 'held' as const, reason } };
    expect(verdict('stopped by its guard', change('plan:pln_1'), planned)).toMatchObject({
      ...{ tone: 'bad', cause: reason, since: AT },
      next: { text: 'Nothing happens by itself: roll it back, or resume it.' },
    });
  });

  it('that its guard stopped keeps the figures when its plan is cancelled, or another is made', () => {
    const why = 'stuck: 31 of 212 devices';
    const planned = { plan: { ...PLAN, status: 'cancelled', reason: 'Cancelled' } } as const;
    const said = verdict('stopped by its guard', change('plan:pln_1', why), planned);
    expect(said.cause).toBe(why);
  });

  it.each([
    ['account:ann@example.com', 'crashes', 'By ann@example.com: crashes'],
    ['key:key_1 (ci)', null, 'By key ci'],
    ['integration:github', null, 'By the webhook of GitHub'],
  ])('that %s paused names who', (by, reason, cause) => {
    expect(verdict('paused', change(by, reason))).toMatchObject({
      ...{ tone: 'warn', cause, since: AT },
      next: { text: 'Nothing happens by itself: it waits to be resumed.' },
    });
  });

  it('that waits for its files goes out by itself, and one that waits for a person does not', () => {
    const next = (hold: 'expecting' | 'by-hand') => verdict('paused', {}, {}, { hold }).next?.text;
    expect(next('expecting')).toBe(
      'It is published by itself once the rest of its files is there.',
    );
    expect(next('by-hand')).toBe('Nothing happens by itself: it waits to be resumed.');
  });

  it.each([
    ['Held', 'ann@example.com', 'tickets', 'Its plan is held by ann@example.com: tickets'],
    ['Held', 'ann@example.com', null, 'Its plan is held by ann@example.com'],
    ['Held', null, null, 'Its plan is held by hand'],
    ['The release was paused', 'ann@example.com', 'x', 'Its plan is held: The release was paused'],
    [null, null, null, 'Its plan is held, and no reason is known'],
  ])('whose plan is held (%j) names who and why', (reason, actor, why, cause) => {
    const plan = { ...PLAN, status: 'held' as const, reason };
    const entry = {
      ...{ id: '1', at: AT, actor: `account:${actor}`, action: 'plan.hold', subject: 'x' },
      ...{ requestId: null, reason: why, before: null, after: null },
    };
    const history = actor === null ? [] : [entry];
    expect(verdict('for nobody yet', {}, { plan }, { history }).cause).toBe(cause);
  });

  it.each([
    ['goes on by its plan', { plan: PLAN }, 'Next, its plan goes to 100\u00a0%', AT],
    ['is raised by hand', {}, 'Nothing happens by itself: the rollout is raised by hand.', null],
    [
      'waits for a guard',
      {
        plan: { ...PLAN, nextAt: null, waitingFor: { guard: 'stuck', since: AT, reason: 'few' } },
      } as const,
      'Its plan waits: few. Then its plan goes to 100\u00a0%.',
      null,
    ],
  ] as const)('that %s says what comes next', (_, planned, text, at) => {
    expect(verdict('rolling out', {}, planned)).toMatchObject({ tone: 'good', next: { text, at } });
  });

  it('that serves and harms is bad, with the signals above their limits', () => {
    const planned = { health: health('unhealthy', { stuck: STUCK }) };
    expect(verdict('serving', {}, planned)).toMatchObject({
      ...{ tone: 'bad', cause: 'stuck 14.6\u00a0%, limit 2.5\u00a0%' },
    });
  });

  it('that is superseded needs nobody', () => {
    expect(verdict('superseded', { supersededBy: '2.0.0' })).toEqual({
      ...{ tone: 'quiet', state: 'Not offered: 2.0.0 is newer.', cause: null, since: null },
      next: null,
    });
  });
});

const HELD_PLAN = { ...PLAN, status: 'held' as const, nextAt: null };
/** Plan whose present step of 20 % was the last but one of those below 100 %. */
const LONG: RolloutPlan = {
  ...PLAN,
  steps: [...PLAN.steps.slice(0, 2), { ...step(50), holdMinutes: 1440 }, step(100)],
};

function step(rollout: number): PlanStep {
  return { rollout, holdMinutes: 0, startedAt: null, endedAt: null };
}

it.each([
  // A step that is reached keeps its whole hold.
  [LONG, 50, 'Its plan goes on from there: it goes to 100\u00a0% 1 day later.', null],
  [PLAN, 100, 'Its plan goes on from there: it is completed 1 hour later.', null],
  // Guards watch an hour at least after the last raise.
  [LONG, 100, 'Its plan goes on from there: it is completed 1 hour later.', null],
  [{ ...LONG, guards: null }, 100, 'Its plan goes on from there: it is completed at once.', null],
  // Without a new step the present wait stays as it is.
  [LONG, 30, 'Its plan waits as before, then goes to 50\u00a0%', AT],
  [
    HELD_PLAN,
    30,
    'Its plan is held: once it is resumed, it goes to 100\u00a0% after what is left of its wait.',
    null,
  ],
  [
    { ...LONG, status: 'held', nextAt: null },
    50,
    'Its plan is held: once it is resumed, it goes to 100\u00a0% 1 day later.',
    null,
  ],
  [{ ...PLAN, status: 'scheduled' }, 50, 'Its plan begins', AT],
] as const satisfies readonly (readonly [RolloutPlan, number, string, string | null])[])(
  'after a raise by hand, only a step newly reached begins a hold (§27.2): %#',
  (plan, percent, text, at) => {
    expect(afterRaise(plan, percent)).toEqual({ text, at });
  },
);

it.each([
  [{ plan: null, health: health('healthy') }, true, undefined],
  [
    // 698 were offered it, and none could have shown anything yet.
    {
      plan: null,
      health: health('too early', { stuck: NO_RATE, silent: { ...NO_RATE, base: 7 } }),
    },
    true,
    'Too early to tell: of the 100 devices that each signal needs, stuck has 0, silent has 7.',
  ],
  [{ plan: null, health: health('too early') }, false, 'Too early to tell: it is not offered now.'],
  [
    // Its first step was 100 %: there never were enough other devices.
    { plan: PLAN, health: health('too early') },
    true,
    'Too early to tell: there are too few other devices to compare silent ones with.',
  ],
  [
    { plan: PLAN, health: health('too early', { stuck: OF_ONE_NETWORK }) },
    true,
    'For a person to decide: stuck above the limit, but without one network too few devices are ' +
      'left to judge by.',
  ],
])('what keeps a release from being judged: %#', (planned, isOffered, text) => {
  expect(tooEarlyText(planned, isOffered)).toBe(text);
});

it('a rate says which network keeps its guard from judging (§27.14)', () => {
  expect(networkText(STUCK)).toBeUndefined();
  expect(networkText(OF_ONE_NETWORK)).toBe(
    'without one network (200 of its 201 devices) too few are left to judge by',
  );
});

it('a guarded plan says how many devices each guard can judge by', () => {
  const rates = { failed: NO_RATE, reverted: NO_RATE, silent: NO_RATE };
  expect(judgedText({ plan: PLAN, health: health('healthy', rates) })).toBe(
    'Devices to judge by: stuck by 500; each guard needs 100.',
  );
  expect(judgedText({ plan: null, health: health('healthy') })).toBeUndefined();
});

it.each([
  [
    7,
    { ...NO_RATE, base: 527, percent: 0.8 },
    527,
    '7 of 527 are silent, 1.3\u00a0%, less 0.5\u00a0% among other devices',
  ],
  [
    2,
    { ...NO_RATE, base: 100, percent: 0 },
    100,
    '2 of 100 are silent, 2\u00a0%, less at least 2\u00a0% among other devices',
  ],
  // 41 of these 1,950 are silent, less 2 % among other devices; the other 49 of 2,050 are not compared.
  [90, { ...NO_RATE, base: 1950, percent: 0.1 }, 4000, 'judged by 1,950 devices'],
  [90, { ...NO_RATE, base: 1950, percent: 0.1 }, undefined, undefined],
  [0, NO_RATE, 0, undefined],
])(
  '%d silent devices: what is taken off is said of the same devices: %#',
  (...[devices, rate, reached, text]) => {
    expect(silentText(devices, rate, reached)).toBe(text);
  },
);
