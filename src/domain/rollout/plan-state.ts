// State of a rollout plan, as the ledger keeps it.
//
//   scheduled ──▶ running ⇄ held          a step begins by raising the rollout, then its hold runs
//        └──────────┴───────┴──▶ completed, cancelled
//
// Waits are counted in a time of their own, which stands still while the ledger is away and does not jump
// with a machine's clock (see `PlanTime`). So a hold that was half over before an outage is so after it.

import type { ReleaseStatus } from '../../contract/resource.ts';
import type {
  BlindEffect,
  PlanGuards,
  PlannedStep,
  PlanPresetName,
  PlanStatus,
  PlanStep,
  PlanWait,
  RaiseHours,
  Signal,
  TripEffect,
} from '../../contract/rollout-plan.ts';
import type { GuardWatch } from './guard-watch.ts';
import { nextOpening } from './next-opening.ts';
import type { SilentOthers } from './signal-counts.ts';

/** Present time, twice. */
export type PlanTime = {
  /** Time of the ledger in milliseconds since 1970. */
  readonly nowMs: number;
  /** Milliseconds in which the ledger was there and plans were driven, from an arbitrary beginning. */
  readonly countedMs: number;
};

/** What a plan asks of its release. */
export type PlannedRelease = {
  readonly status: ReleaseStatus;
  readonly rolloutPct: number;
  /** Whether it was ever published. */
  readonly wasPublished: boolean;
};

/** What a publisher asks for. */
export type PlanDefinition = {
  readonly steps: readonly PlannedStep[];
  /** When the first step begins, in milliseconds since 1970; undefined for at once. */
  readonly startAtMs: number | undefined;
  readonly guards: PlanGuards | null;
  readonly onTrip: TripEffect;
  /** Undefined for `hold`, or for what a preset has on a fleet of this size. */
  readonly onBlind: BlindEffect | undefined;
  readonly patienceMinutes: number;
  readonly raiseBetween: RaiseHours | null;
  readonly preset: PlanPresetName | null;
};

export type PlanState = {
  readonly status: PlanStatus;
  readonly reason: string | null;
  readonly steps: readonly PlanStep[];
  readonly step: number | null;
  /** When the first step begins at the earliest, in milliseconds since 1970; null for at once. */
  readonly startAtMs: number | null;
  /** Counted time at which the present wait of a running plan ends; null in any other status. */
  readonly dueMs: number | null;
  /** What is left of the wait of a held plan, in milliseconds; null in any other status. */
  readonly leftMs: number | null;
  /** Counted time at which the rollout was last raised, by whomever, or at which the plan was made. */
  readonly raisedMs: number;
  /** Whether the present step was reached by others: its hold runs, but the plan did not raise. */
  readonly isReached: boolean;
  /** What it waits for although its hold is over; null while nothing but time keeps it. */
  readonly waitingFor: PlanWait | null;
  /** Counted time since which a guard could not judge after the hold; null while all could. */
  readonly blindSinceMs: number | null;
  /** Whether the next step begins also while guards cannot judge: somebody said so. */
  readonly isPushed: boolean;
  readonly guards: PlanGuards | null;
  readonly onTrip: TripEffect;
  readonly onBlind: BlindEffect;
  readonly patienceMinutes: number;
  readonly raiseBetween: RaiseHours | null;
  readonly preset: PlanPresetName | null;
  readonly watch: GuardWatch;
  /** Counted time of the last check of the guards; null before the first. */
  readonly checkedMs: number | null;
  /** Signals for which it is held. */
  readonly tripped: readonly Signal[];
  /** See `HealthContext`. */
  readonly silentOthers: SilentOthers | null;
};

/** Returns whether a plan can still do something. */
export function isOpen({ status }: Pick<PlanState, 'status'>): boolean {
  return status === 'scheduled' || status === 'running' || status === 'held';
}

/**
 * Returns when the present wait ends, in milliseconds since 1970; null while that is open. A step that is due
 * outside of the plan's hours waits for their opening.
 */
export function nextAtMs(state: PlanState, { nowMs, countedMs }: PlanTime): number | null {
  const { status, startAtMs, dueMs, waitingFor } = state;
  if (status === 'scheduled') return startAtMs === null ? null : openingAt(state, startAtMs);
  if (status !== 'running' || dueMs === null) return null;
  if (waitingFor !== null && waitingFor.guard !== null) return null;
  return openingAt(state, Math.max(nowMs, nowMs + dueMs - countedMs));
}

/** Returns the first moment from this one on at which what comes next may be done. */
export function openingAt(state: PlanState, atMs: number): number {
  const isStep = (state.step ?? -1) + 1 < state.steps.length;
  return state.raiseBetween === null || !isStep ? atMs : nextOpening(state.raiseBetween, atMs);
}

/** Ends a plan. */
export function ended(
  state: PlanState,
  status: 'completed' | 'cancelled',
  reason: string | null,
): PlanState {
  return { ...waitless(state), status, reason, dueMs: null, leftMs: null, watch: {} };
}

/**
 * Holds a plan: what is left of its wait is kept. Its guards watch on, so that a check which found a signal
 * above its limit still counts.
 */
export function held(state: PlanState, reason: string, { countedMs }: PlanTime): PlanState {
  const leftMs = state.dueMs === null ? (state.leftMs ?? 0) : Math.max(0, state.dueMs - countedMs);
  return { ...waitless(state), status: 'held', reason, dueMs: null, leftMs };
}

/** Returns a plan that waits for nothing but time. */
export function waitless(state: PlanState): PlanState {
  return { ...state, waitingFor: null, blindSinceMs: null };
}
