// Roll-out plans and the health of a release (docs/contract.md 27).

export const PLAN_STATUSES = ['scheduled', 'running', 'held', 'completed', 'cancelled'] as const;
export type PlanStatus = (typeof PLAN_STATUSES)[number];

export const PLAN_ACTIONS = ['hold', 'resume', 'advance', 'cancel'] as const;
/** What a person or a key does with a plan. */
export type PlanAction = (typeof PLAN_ACTIONS)[number];

export const SIGNALS = ['failed', 'reverted', 'stuck', 'silent'] as const;
/** Sign that a release does devices harm. */
export type Signal = (typeof SIGNALS)[number];

export const VERDICTS = ['too early', 'healthy', 'unhealthy'] as const;
type Verdict = (typeof VERDICTS)[number];

export const TRIP_EFFECTS = ['hold', 'pause'] as const;
/** What a tripped guard does: it holds the plan, or pauses the release as well. */
export type TripEffect = (typeof TRIP_EFFECTS)[number];

/** Limits of signals, in percent, and how the signals are taken; a signal without a limit trips nothing. */
export type PlanGuards = {
  /** Devices that the base of a signal must have before it trips. */
  readonly minimumDevices: number;
  readonly failedPercent?: number;
  readonly revertedPercent?: number;
  readonly stuckPercent?: number;
  readonly silentPercent?: number;
  readonly stuckAfterMinutes: number;
  readonly silentAfterMinutes: number;
  /** Minutes before the release was published by which a device must have been known. */
  readonly knownForMinutes: number;
  /** Minutes between the two checks that must find a signal above its limit. */
  readonly confirmMinutes: number;
  /** With `push`, only devices count that were reported with a key. */
  readonly source?: 'push';
};

/** Step of a plan before it is driven. */
export type PlannedStep = {
  readonly rollout: number;
  readonly holdMinutes: number;
};

/** Step with the times of its beginning and its end, RFC 3339; one that was passed over has an end only. */
export type PlanStep = PlannedStep & {
  readonly startedAt: string | null;
  readonly endedAt: string | null;
};

export type RolloutPlan = {
  readonly id: string;
  readonly app: string;
  readonly channel: string;
  readonly version: string;
  readonly status: PlanStatus;
  /** Why it is in this status, in words; null where that needs none. */
  readonly reason: string | null;
  readonly steps: readonly PlanStep[];
  /** Index of the step that began last; null before the first. */
  readonly step: number | null;
  /** When the present wait ends, RFC 3339; null while it is open when. */
  readonly nextAt: string | null;
  readonly guards: PlanGuards | null;
  readonly onTrip: TripEffect;
  readonly createdAt: string;
  /** Actor, as the audit writes it. */
  readonly createdBy: string;
};

/** Rate of a signal, in percent with one decimal: the ends are those of its 95 % interval. */
export type SignalRate = {
  readonly percent: number;
  readonly low: number;
  readonly high: number;
  /** Limit of the plan's guard; null when there is none. */
  readonly limit: number | null;
  /** Whether the plan is held because of it. */
  readonly tripped: boolean;
};

/** What the check-ins of known devices tell of a release. */
export type Health = {
  readonly offered: number;
  readonly installed: number;
  readonly failed: number;
  readonly reverted: number;
  readonly stuck: number;
  readonly silent: number;
  readonly rates: Readonly<Record<Signal, SignalRate>>;
  readonly verdict: Verdict;
};
