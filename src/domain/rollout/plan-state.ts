// State of a rollout plan, as the ledger stores it.
//
//   scheduled ──▶ running ⇄ held          a step begins by raising the rollout, then its hold runs
//        └──────────┴───────┴──▶ completed, cancelled
//
// Waits run in counted time, which stops while the ledger is unavailable and does not jump with a machine's
// clock (see `PlanTime`): a hold that was half over before an outage is half over after it.

import type { ReleaseStatus } from '../../contract/resource.ts';
import {
  type BlindEffect,
  isOpenEnded,
  type PlanGuards,
  type PlannedStep,
  type PlanPresetName,
  type PlanStatus,
  type PlanStep,
  type PlanWait,
  type RaiseHours,
  type Signal,
  type TripEffect,
} from '../../contract/rollout-plan.ts';
import type { GuardWatch } from './guard-watch.ts';
import { nextOpening } from './next-opening.ts';
import type { SilentOthers } from './signal-counts.ts';

/** Present time on both clocks. */
export type PlanTime = {
  /** Time of the ledger in milliseconds since 1970. */
  readonly nowMs: number;
  /** Milliseconds in which the ledger was available and plans were driven, from an arbitrary origin. */
  readonly countedMs: number;
};

/** What a plan reads from its release. */
export type PlannedRelease = {
  readonly status: ReleaseStatus;
  readonly rolloutPct: number;
  readonly wasPublished: boolean;
};

/** Plan as a publisher requests it. */
export type PlanDefinition = {
  readonly steps: readonly PlannedStep[];
  /** When the first step begins, in milliseconds since 1970; undefined for at once. */
  readonly startAtMs: number | undefined;
  readonly guards: PlanGuards | null;
  readonly onTrip: TripEffect;
  /** Undefined: `hold`, or under a preset what fits the size of the fleet. */
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
  /** Earliest start of the first step in milliseconds since 1970; null for at once. */
  readonly startAtMs: number | null;
  /** Counted time at which the present wait of a running plan ends; null in any other status. */
  readonly dueMs: number | null;
  /** Rest of a held plan's wait in milliseconds; null in any other status. */
  readonly leftMs: number | null;
  /** Counted time of the last raise, by anybody, or of the plan's creation. */
  readonly raisedMs: number;
  /** Whether others reached the present step: its hold runs, but the plan did not raise. */
  readonly isReached: boolean;
  /** What delays it after its hold; null if only time does. */
  readonly waitingFor: PlanWait | null;
  /** Counted time since which a guard cannot judge after the hold; null while all can. */
  readonly blindSinceMs: number | null;
  /** Whether a person or key allowed the next step even if guards cannot judge. */
  readonly isPushed: boolean;
  readonly guards: PlanGuards | null;
  readonly onTrip: TripEffect;
  readonly onBlind: BlindEffect;
  readonly patienceMinutes: number;
  readonly raiseBetween: RaiseHours | null;
  readonly preset: PlanPresetName | null;
  readonly watch: GuardWatch;
  /** Like `watch`, of guards whose condition holds with all devices, even if one network decides. */
  readonly wholeWatch?: GuardWatch | undefined;
  /** Counted time of the last check of the guards; null before the first. */
  readonly checkedMs: number | null;
  /** Signals for which it is held. */
  readonly tripped: readonly Signal[];
  /** Signals for which it is held because one network decides; undefined for none. */
  readonly undecided?: readonly Signal[] | undefined;
  /** See `HealthContext`. */
  readonly silentOthers: SilentOthers | null;
};

/** Returns whether a plan can still act. */
export function isOpen({ status }: Pick<PlanState, 'status'>): boolean {
  return status === 'scheduled' || status === 'running' || status === 'held';
}

/**
 * Returns when the present wait ends, in milliseconds since 1970; null if that is unknown. A step that is due
 * outside the plan's hours waits until they open.
 */
export function nextAtMs(state: PlanState, { nowMs, countedMs }: PlanTime): number | null {
  const { status, startAtMs, dueMs, waitingFor } = state;
  if (status === 'scheduled') return startAtMs === null ? null : openingAt(state, startAtMs);
  if (status !== 'running' || dueMs === null) return null;
  if (isOpenEnded(waitingFor)) return null;
  return openingAt(state, Math.max(nowMs, nowMs + dueMs - countedMs));
}

/** Returns the first moment at or after `atMs` at which the plan may act. */
export function openingAt(state: PlanState, atMs: number): number {
  const isStep = (state.step ?? -1) + 1 < state.steps.length;
  return state.raiseBetween === null || !isStep ? atMs : nextOpening(state.raiseBetween, atMs);
}

export function ended(
  state: PlanState,
  status: 'completed' | 'cancelled',
  reason: string | null,
): PlanState {
  return { ...waitless(state), status, reason, dueMs: null, leftMs: null, ...UNWATCHED };
}

/** Holds a plan and keeps the rest of its wait. Its guards keep watching: earlier checks still count. */
export function held(state: PlanState, reason: string, { countedMs }: PlanTime): PlanState {
  const leftMs = state.dueMs === null ? (state.leftMs ?? 0) : Math.max(0, state.dueMs - countedMs);
  return { ...waitless(state), status: 'held', reason, dueMs: null, leftMs };
}

/** Watches of a plan whose guards found no signal above its limit yet. */
export const UNWATCHED = { watch: {}, wholeWatch: {} } as const;

/** Returns a plan that waits for time only. */
export function waitless(state: PlanState): PlanState {
  return { ...state, waitingFor: null, blindSinceMs: null };
}
