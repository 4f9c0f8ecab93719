// Properties of rollout plans for random interleavings of people, time, faults and two drivers
// (docs/contract.md 27.2 and 27.3).

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isFailure } from '../../../src/contract/failure.ts';
import {
  type BlindEffect,
  PLAN_ACTIONS,
  type PlanAction,
} from '../../../src/contract/rollout-plan.ts';
import { drivePlan, type PlanEvidence } from '../../../src/domain/rollout/drive-plan.ts';
import { followRelease } from '../../../src/domain/rollout/follow-release.ts';
import {
  isOpen,
  type PlannedRelease,
  type PlanState,
} from '../../../src/domain/rollout/plan-state.ts';
import { steerPlan } from '../../../src/domain/rollout/steer-plan.ts';
import { PROPERTY_RUNS } from '../../support/property-runs.ts';
import { guards, LIVE, MINUTE_MS, planOf, START_MS, seen, UNBORN, unseen } from './plan-fixture.ts';

/** What a check of the guards finds. */
type Finds = 'well' | 'bad' | 'too few';

type Event =
  | { readonly kind: 'wait'; readonly seconds: number }
  /** The ledger is away: its clock goes on, the counted time does not. */
  | { readonly kind: 'outage'; readonly seconds: number }
  | { readonly kind: 'jump'; readonly seconds: number }
  /** A driver looks; `isLost` says that its transaction is rolled back. */
  | {
      readonly kind: 'drive';
      readonly driver: 0 | 1;
      readonly isLost: boolean;
      readonly finds: Finds;
    }
  /** A driver reads figures, which it may use much later. */
  | { readonly kind: 'read'; readonly driver: 0 | 1; readonly finds: Finds }
  | { readonly kind: 'act'; readonly action: PlanAction }
  | {
      readonly kind: 'serve';
      readonly status: 'published' | 'paused' | 'rolled_back' | 'deprecated';
    }
  | { readonly kind: 'raise'; readonly to: number };

const driver = fc.constantFrom(0 as const, 1 as const);
const finds = fc.constantFrom<Finds>('well', 'well', 'well', 'bad', 'too few');
const action = fc.constantFrom(...PLAN_ACTIONS);
const status = fc.constantFrom(
  ...(['published', 'published', 'paused', 'rolled_back', 'deprecated'] as const),
);
const jump = fc.integer({ min: -86_400, max: 86_400 });

/** Events of a kind, as often as the weight says. */
function often<Kind extends Event['kind']>(
  weight: number,
  kind: Kind,
  fields: {
    [Name in Exclude<keyof Extract<Event, { kind: Kind }>, 'kind'>]: fc.Arbitrary<unknown>;
  },
) {
  const event = fc.record({ kind: fc.constant(kind), ...fields });
  return { weight, arbitrary: event as unknown as fc.Arbitrary<Event> };
}

const anyEvent: fc.Arbitrary<Event> = fc.oneof(
  often(6, 'wait', { seconds: fc.nat(7200) }),
  often(2, 'outage', { seconds: fc.nat(86_400) }),
  often(1, 'jump', { seconds: jump }),
  often(8, 'drive', { driver, isLost: fc.boolean(), finds }),
  often(2, 'read', { driver, finds }),
  often(2, 'act', { action }),
  often(2, 'serve', { status }),
  often(1, 'raise', { to: fc.nat(100) }),
);

const anySteps = fc
  .uniqueArray(fc.integer({ min: 1, max: 100 }), { minLength: 1, maxLength: 6 })
  .chain((rollouts) =>
    fc.tuple(
      fc.constant([...rollouts].sort((a, b) => a - b)),
      fc.array(fc.nat(180), { minLength: rollouts.length, maxLength: rollouts.length }),
    ),
  )
  .map(([rollouts, holds]) =>
    rollouts.map((rollout, index) => `${rollout}:${holds[index]}`).join(' '),
  );

const anyCase = fc.record({
  steps: anySteps,
  release: fc.constantFrom<PlannedRelease>(
    LIVE,
    UNBORN,
    { ...LIVE, rolloutPct: 30 },
    { ...LIVE, status: 'paused' },
  ),
  isGuarded: fc.boolean(),
  onBlind: fc.constantFrom<BlindEffect>('hold', 'advance'),
  events: fc.array(anyEvent, { maxLength: 120 }),
});

/** A ledger in which a plan and its release change together, one transaction after the other. */
class World {
  state: PlanState;
  release: PlannedRelease;
  nowMs = START_MS;
  countedMs = 0;
  /** Counted time in which the plan ran, that is neither held nor scheduled. */
  ranMs = 0;
  readonly begun: number[] = [];
  private readonly figures: (readonly [Finds, PlanEvidence] | undefined)[] = [undefined, undefined];
  /** Time that the plan had run when its present step began or was reached. */
  private sinceRanMs = 0;
  private isAdvanced = false;

  constructor(given: Pick<Case, 'steps' | 'release' | 'isGuarded' | 'onBlind'>) {
    const { steps, release, isGuarded, onBlind } = given;
    this.release = release;
    const limits = { failedPercent: 5, confirmMinutes: 1 };
    const parts = isGuarded ? { guards: guards(limits), onBlind, patienceMinutes: 600 } : {};
    this.state = planOf(steps, release, parts);
  }

  get time() {
    return { nowMs: this.nowMs, countedMs: this.countedMs };
  }

  apply(event: Event): void {
    switch (event.kind) {
      case 'wait':
        return this.wait(event.seconds * 1000);
      case 'outage':
      case 'jump':
        this.nowMs += event.seconds * 1000;
        return;
      case 'read':
        this.figures[event.driver] = [event.finds, this.find(event.finds)];
        return;
      case 'drive':
        return this.drive(event.driver, event.isLost, event.finds);
      case 'act':
        return this.act(event.action);
      case 'serve':
        return this.serve({ ...this.release, status: event.status });
      case 'raise':
        return this.serve({
          ...this.release,
          rolloutPct: Math.max(event.to, this.release.rolloutPct),
        });
    }
  }

  wait(ms: number): void {
    this.nowMs += ms;
    this.countedMs += ms;
    if (this.state.status === 'running') this.ranMs += ms;
  }

  private find(what: Finds): PlanEvidence {
    if (what === 'too few') return unseen(this.time, { offered: 99, failed: 99 });
    return seen(this.time, { offered: 1000, failed: what === 'bad' ? 500 : 0 });
  }

  drive(place: 0 | 1, isLost: boolean, what: Finds): void {
    // Figures that the driver has read before are used once, however old they are.
    const [finds, read] = this.figures[place] ?? [what, this.find(what)];
    this.figures[place] = undefined;
    const { state, act } = drivePlan(this.state, this.release, this.time, read);
    if (isLost) return;
    const before = this.state;
    this.become(state);
    if (act?.kind === 'pause') this.release = { ...this.release, status: 'paused' };
    const isDone = act?.kind === 'raise' || (before !== state && state.status === 'completed');
    if (isDone) this.expectFree(before, finds);
    this.expectWaiting(read);
    if (act?.kind !== 'raise') return;
    expect(this.release.status).toBe('published');
    expect(act.rollout).toBeGreaterThan(this.release.rolloutPct);
    this.release = { ...this.release, rolloutPct: act.rollout };
    this.begun.push(state.step ?? -1);
    this.isAdvanced = false;
  }

  /** What was found did not speak against going on. */
  private expectFree(before: PlanState, finds: Finds): void {
    if (before.guards === null) return;
    expect(finds).not.toBe('bad');
    if (finds === 'well' || before.onBlind === 'advance' || this.isAdvanced) return;
    expect(this.release.rolloutPct).toBe(0);
  }

  /** A plan whose hold is over, and that has figures of later, did something, or says for what it waits. */
  private expectWaiting({ seenUpToMs }: PlanEvidence): void {
    const { status, dueMs, waitingFor } = this.state;
    if (status !== 'running' || dueMs === null) return;
    if (dueMs <= this.countedMs && seenUpToMs >= dueMs) expect(waitingFor).not.toBeNull();
  }

  act(action: PlanAction): void {
    const outcome = steerPlan(this.state, action, this.release, this.time);
    if (isFailure(outcome)) return;
    this.become(outcome);
    if (action === 'advance') this.isAdvanced = true;
  }

  serve(after: PlannedRelease): void {
    if (this.release.status === 'rolled_back') return;
    const wasPublished = this.release.wasPublished || after.status === 'published';
    const next = { ...after, wasPublished };
    this.become(followRelease(this.state, this.release, next, this.time));
    this.release = next;
  }

  /** No step of a plan follows on another one before the hold of that one, unless somebody ended it. */
  private become(state: PlanState): void {
    const before = this.state;
    this.state = state;
    if (state.step === before.step) return;
    const isRaised = !state.isReached;
    const step = before.step === null ? undefined : state.steps[before.step];
    if (isRaised && step !== undefined && !this.isAdvanced) {
      expect(state.step).toBe((before.step ?? -1) + 1);
      const holdMs = step.holdMinutes * MINUTE_MS;
      expect(this.ranMs - this.sinceRanMs).toBeGreaterThanOrEqual(holdMs);
    }
    this.sinceRanMs = this.ranMs;
    if (!isRaised) this.isAdvanced = false;
  }
}

type Case = typeof anyCase extends fc.Arbitrary<infer Value> ? Value : never;

describe('for any interleaving of people, time, faults and two drivers', () => {
  it('a plan raises at once only by a first step above what is out (§27.2)', () => {
    fc.assert(
      fc.property(anySteps, fc.nat(100), fc.boolean(), (steps, rolloutPct, isGuarded) => {
        const release = { ...LIVE, rolloutPct };
        const parts = isGuarded ? { guards: guards({ failedPercent: 5 }) } : {};
        const plan = planOf(steps, release, parts);
        const time = { nowMs: START_MS, countedMs: 0 };
        const { act } = drivePlan(plan, release, time, seen(time));
        const [first] = plan.steps;
        if (first !== undefined && first.rollout > rolloutPct) {
          expect(act).toMatchObject({ kind: 'raise', rollout: first.rollout });
        } else if ((plan.steps[plan.step ?? -1]?.holdMinutes ?? 0) > 0) {
          expect(act).toBeUndefined();
        }
      }),
      { numRuns: PROPERTY_RUNS },
    );
  });

  it('a plan never lowers, skips no hold, runs no step twice, passes no guard, and ends once it may go on and is healthy (§27.2)', () => {
    fc.assert(
      fc.property(anyCase, (given) => {
        const world = new World(given);
        for (const event of given.events) {
          const { rolloutPct } = world.release;
          world.apply(event);
          expect(world.release.rolloutPct).toBeGreaterThanOrEqual(rolloutPct);
        }
        expect(world.begun).toEqual([...new Set(world.begun)].sort((a, b) => a - b));
        // Each step takes its hold at most, and a turn to begin.
        for (let turn = 0; turn < 40 && isOpen(world.state); turn++) {
          world.serve({ ...world.release, status: 'published' });
          world.act('resume');
          world.drive(0, false, 'well');
          world.wait(181 * MINUTE_MS);
          world.drive(1, false, 'well');
        }
        expect(isOpen(world.state)).toBe(false);
      }),
      { numRuns: PROPERTY_RUNS },
    );
  });
});
