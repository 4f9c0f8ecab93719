// Properties of roll-out plans for random interleavings of people, time, faults and two drivers
// (docs/contract.md 27.2 and 27.3).

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isFailure } from '../../../src/contract/failure.ts';
import { PLAN_ACTIONS, type PlanAction } from '../../../src/contract/rollout-plan.ts';
import { drivePlan, type PlanEvidence } from '../../../src/domain/rollout/drive-plan.ts';
import { followRelease } from '../../../src/domain/rollout/follow-release.ts';
import {
  isOpen,
  type PlannedRelease,
  type PlanState,
} from '../../../src/domain/rollout/plan-state.ts';
import { steerPlan } from '../../../src/domain/rollout/steer-plan.ts';
import { PROPERTY_RUNS } from '../../support/property-runs.ts';
import { guards, LIVE, MINUTE_MS, planOf, START_MS, seen, UNBORN } from './plan-fixture.ts';

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
      readonly failed: number;
    }
  /** A driver reads figures, which it may use much later. */
  | { readonly kind: 'read'; readonly driver: 0 | 1; readonly failed: number }
  | { readonly kind: 'act'; readonly action: PlanAction }
  | {
      readonly kind: 'serve';
      readonly status: 'published' | 'paused' | 'rolled_back' | 'deprecated';
    }
  | { readonly kind: 'raise'; readonly to: number };

const driver = fc.constantFrom(0 as const, 1 as const);
const failed = fc.constantFrom(0, 0, 0, 500);
const anyEvent: fc.Arbitrary<Event> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant('wait' as const), seconds: fc.nat(7200) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('outage' as const), seconds: fc.nat(86_400) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('jump' as const),
      seconds: fc.integer({ min: -86_400, max: 86_400 }),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('drive' as const),
      driver,
      isLost: fc.boolean(),
      failed,
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('read' as const), driver, failed }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('act' as const),
      action: fc.constantFrom(...PLAN_ACTIONS),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('serve' as const),
      status: fc.constantFrom(
        ...(['published', 'published', 'paused', 'rolled_back', 'deprecated'] as const),
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('raise' as const), to: fc.nat(100) }) },
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
  readonly begun: {
    readonly index: number;
    readonly ranMs: number;
    readonly isAdvanced: boolean;
  }[] = [];
  private readonly figures: (PlanEvidence | undefined)[] = [undefined, undefined];
  private isAdvanced = false;

  constructor({ steps, release, isGuarded }: Pick<Case, 'steps' | 'release' | 'isGuarded'>) {
    this.release = release;
    const parts = isGuarded ? { guards: guards({ failedPercent: 5, confirmMinutes: 1 }) } : {};
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
        this.figures[event.driver] = seen(this.time, { offered: 1000, failed: event.failed });
        return;
      case 'drive':
        return this.drive(event.driver, event.isLost, event.failed);
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

  drive(place: 0 | 1, isLost: boolean, failures: number): void {
    // Figures that the driver has read before are used once, however old they are.
    const read = this.figures[place] ?? seen(this.time, { offered: 1000, failed: failures });
    this.figures[place] = undefined;
    const { state, act } = drivePlan(this.state, this.release, this.time, read);
    if (isLost) return;
    const before = this.state;
    this.state = state;
    if (act?.kind === 'pause') this.release = { ...this.release, status: 'paused' };
    if (act?.kind !== 'raise') return;
    expect(this.release.status).toBe('published');
    expect(act.rollout).toBeGreaterThan(this.release.rolloutPct);
    this.release = { ...this.release, rolloutPct: act.rollout };
    const index = state.step ?? -1;
    const isAdvanced = this.isAdvanced || before.step === null;
    this.begun.push({ index, ranMs: this.ranMs, isAdvanced });
    this.isAdvanced = false;
  }

  act(action: PlanAction): void {
    const outcome = steerPlan(this.state, action, this.release, this.time);
    if (isFailure(outcome)) return;
    this.state = outcome;
    if (action === 'advance') this.isAdvanced = true;
  }

  serve(after: PlannedRelease): void {
    if (this.release.status === 'rolled_back') return;
    const wasPublished = this.release.wasPublished || after.status === 'published';
    const next = { ...after, wasPublished };
    this.state = followRelease(this.state, this.release, next, this.time);
    this.release = next;
  }
}

type Case = typeof anyCase extends fc.Arbitrary<infer Value> ? Value : never;

describe('for any interleaving of people, time, faults and two drivers', () => {
  it('a plan never lowers, never skips a hold, and begins no step twice (§27.2)', () => {
    fc.assert(
      fc.property(anyCase, (given) => {
        const world = new World(given);
        for (const event of given.events) {
          const { rolloutPct } = world.release;
          world.apply(event);
          expect(world.release.rolloutPct).toBeGreaterThanOrEqual(rolloutPct);
        }
        const indices = world.begun.map(({ index }) => index);
        expect(indices).toEqual([...new Set(indices)].sort((a, b) => a - b));
        for (const [place, { ranMs, isAdvanced }] of world.begun.entries()) {
          const before = world.begun[place - 1];
          if (before === undefined || isAdvanced) continue;
          const holdMs = (world.state.steps[before.index]?.holdMinutes ?? 0) * MINUTE_MS;
          expect(ranMs - before.ranMs).toBeGreaterThanOrEqual(holdMs);
        }
      }),
      { numRuns: PROPERTY_RUNS },
    );
  });

  it('a plan always ends once it is let go on and its release is healthy (§27.2)', () => {
    fc.assert(
      fc.property(anyCase, (given) => {
        const world = new World(given);
        for (const event of given.events) world.apply(event);
        // Each step takes its hold at most, and a turn to begin.
        for (let turn = 0; turn < 40 && isOpen(world.state); turn++) {
          world.serve({ ...world.release, status: 'published' });
          world.act('resume');
          world.drive(0, false, 0);
          world.wait(181 * MINUTE_MS);
          world.drive(1, false, 0);
        }
        expect(isOpen(world.state)).toBe(false);
      }),
      { numRuns: PROPERTY_RUNS },
    );
  });
});
