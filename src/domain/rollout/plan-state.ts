// State of a roll-out plan, as the ledger keeps it.
//
//   scheduled ──▶ running ⇄ held          a step begins by raising the roll-out, then its hold runs
//        └──────────┴───────┴──▶ completed, cancelled
//
// Waits are counted in a time of their own, which stands still while the ledger is away and does not jump
// with a machine's clock (see `PlanTime`). So a hold that was half over before an outage is so after it.

import type { ReleaseStatus } from '../../contract/resource.ts';
import type {
  PlanGuards,
  PlannedStep,
  PlanStatus,
  PlanStep,
  Signal,
  TripEffect,
} from '../../contract/rollout-plan.ts';
import type { GuardWatch } from './guard-watch.ts';

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
  /** Counted time at which the roll-out was last raised, by whomever, or at which the plan was made. */
  readonly raisedMs: number;
  /** Whether no step is left and the guards are watched for a last while. */
  readonly isWatching: boolean;
  readonly guards: PlanGuards | null;
  readonly onTrip: TripEffect;
  readonly watch: GuardWatch;
  /** Counted time of the last check of the guards; null before the first. */
  readonly checkedMs: number | null;
  /** Signals for which it is held. */
  readonly tripped: readonly Signal[];
  /** See `HealthContext`. */
  readonly silentShare: number | null;
};

/** Returns whether a plan can still do something. */
export function isOpen({ status }: Pick<PlanState, 'status'>): boolean {
  return status === 'scheduled' || status === 'running' || status === 'held';
}

/** Returns when the present wait ends, in milliseconds since 1970; null while that is open. */
export function nextAtMs(state: PlanState, { nowMs, countedMs }: PlanTime): number | null {
  if (state.status === 'scheduled') return state.startAtMs;
  if (state.status !== 'running' || state.dueMs === null) return null;
  return Math.max(nowMs, nowMs + state.dueMs - countedMs);
}

/** Ends a plan. */
export function ended(
  state: PlanState,
  status: 'completed' | 'cancelled',
  reason: string | null,
): PlanState {
  return { ...state, status, reason, dueMs: null, leftMs: null, watch: {} };
}

/** Holds a plan: what is left of its wait is kept. */
export function held(
  state: PlanState,
  reason: string,
  { countedMs }: PlanTime,
  tripped: readonly Signal[] = [],
): PlanState {
  const leftMs = state.dueMs === null ? (state.leftMs ?? 0) : Math.max(0, state.dueMs - countedMs);
  return { ...state, status: 'held', reason, dueMs: null, leftMs, watch: {}, tripped };
}
