// Events of a rollout plan, made from a change of its state. Each fact makes one event: a trip makes none for
// its hold as well, a wait makes one at its beginning, and a step that others reached makes none.

import { SIGNALS } from '../../contract/choice.ts';
import type { GuardFacts, NewEvent, PlanFacts } from '../../contract/notification.ts';
import type { PlanGuards, Signal, SignalBreakdown } from '../../contract/rollout-plan.ts';
import { worstPlatform } from './failure-places.ts';
import type { JudgedHealth } from './judge-health.ts';
import type { PlanState } from './plan-state.ts';

/** Figures of the check at which guards hold a plan. */
export type TripFigures = {
  readonly judged: Pick<JudgedHealth, 'health' | 'hits'>;
  /** Devices by platform and version; undefined if they were not read. */
  readonly places: Readonly<Record<Signal, SignalBreakdown>> | undefined;
};

/**
 * Returns the events of a change, in their order. `before` is undefined for a new plan; `trip` is undefined
 * unless the change is that guards hold the plan.
 */
export function planEvents(
  id: string,
  before: PlanState | undefined,
  after: PlanState,
  trip?: TripFigures,
): readonly NewEvent[] {
  const facts = factsOf(id, after);
  const { reason, waitingFor } = after;
  const events: NewEvent[] = [];
  if (isStart(before, after)) events.push({ type: 'plan.started', facts });
  if (isStep(before, after)) events.push({ type: 'plan.step', facts });
  if (waitingFor !== null && !isSameWait(before?.waitingFor ?? null, waitingFor)) {
    events.push({
      type: 'plan.waiting',
      facts: { ...facts, waitingFor },
      reason: waitingFor.reason,
    });
  }
  const guards = guardsOf(after.guards, trip);
  if (after.tripped.length > (before?.tripped.length ?? 0)) {
    events.push({ type: 'plan.tripped', facts: { ...facts, guards }, reason });
  } else if (isMoreUndecided(before, after)) {
    events.push({ type: 'plan.held', facts: { ...facts, guards }, reason });
  } else if (after.status !== (before?.status ?? 'scheduled')) {
    const type = ENDS[after.status];
    if (type !== undefined) events.push({ type, facts, reason });
  }
  return events;
}

const ENDS: Partial<
  Record<PlanState['status'], 'plan.held' | 'plan.completed' | 'plan.cancelled'>
> = { held: 'plan.held', completed: 'plan.completed', cancelled: 'plan.cancelled' };

/** Returns whether the change holds a plan for a guard that cannot judge without one network. */
export function isMoreUndecided(before: PlanState | undefined, after: PlanState): boolean {
  return (after.undecided?.length ?? 0) > (before?.undecided?.length ?? 0);
}

/** Returns whether a plan starts now. A resumed plan does only if it was held before its first step. */
function isStart(before: PlanState | undefined, after: PlanState): boolean {
  if (after.status !== 'running' || before?.status === 'running') return false;
  return before === undefined || before.status === 'scheduled' || before.step === null;
}

function isStep(before: PlanState | undefined, after: PlanState): boolean {
  return after.step !== null && after.step !== (before?.step ?? null) && !after.isReached;
}

function isSameWait(before: PlanState['waitingFor'], after: PlanState['waitingFor']): boolean {
  return before?.guard === after?.guard && before?.since === after?.since;
}

function factsOf(id: string, { status, step, steps }: PlanState): PlanFacts {
  const present = step === null ? undefined : steps[step];
  return {
    plan: {
      ...{ id, status, step: step === null ? null : step + 1, steps: steps.length },
      rollout: present?.rollout ?? null,
    },
  };
}

/** Returns the guards that have a limit, with their present figures. */
function guardsOf(guards: PlanGuards | null, trip: TripFigures | undefined): readonly GuardFacts[] {
  if (guards === null || trip === undefined) return [];
  const { health, hits } = trip.judged;
  const { places } = trip;
  return SIGNALS.flatMap((guard) => {
    const { limit, ...rate } = health.rates[guard];
    if (limit === null) return [];
    const platform = places === undefined ? null : worstPlatform(places[guard]);
    return [{ guard, count: hits[guard], ...rate, limit, platform }];
  });
}
