// Rollout plans and the health of a release (docs/contract.md 27).

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

export const BLIND_EFFECTS = ['hold', 'advance'] as const;
/**
 * What a plan does at the end of a hold while a guard with a limit has too few devices to judge: it waits and
 * is held in the end, or goes on.
 */
export type BlindEffect = (typeof BLIND_EFFECTS)[number];

export const PLAN_PRESET_NAMES = ['careful', 'normal', 'fast'] as const;
/** Name of a ready-made plan, the slowest first. */
export type PlanPresetName = (typeof PLAN_PRESET_NAMES)[number];

/** Days of the week, as JavaScript counts them from Sunday. */
export const WEEK_DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;
type WeekDay = (typeof WEEK_DAYS)[number];

/** Hours of the week within which steps begin. */
export type RaiseHours = {
  /** Days on which the hours open. */
  readonly days: readonly WeekDay[];
  /** `HH:MM` by the clock of the time zone; `from` is within the hours, `to` is not. */
  readonly from: string;
  readonly to: string;
  /** Name of the IANA database. */
  readonly timeZone: string;
};

/** What a running plan waits for although its hold is over. */
export type PlanWait = {
  /** Signal whose guard keeps it; null while its hours are closed. */
  readonly guard: Signal | null;
  /** RFC 3339. */
  readonly since: string;
  /** In words and figures. */
  readonly reason: string;
};

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

/**
 * Step with the times of its beginning and its end, RFC 3339. Of one that the rollout had reached without
 * it, they are those of that moment.
 */
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
  /** Index of the step that began, or was reached, last; null before the first. */
  readonly step: number | null;
  /** When the present wait ends, RFC 3339; null while it is open when. */
  readonly nextAt: string | null;
  /** What it waits for after its hold; null while it waits for nothing but time. */
  readonly waitingFor: PlanWait | null;
  readonly guards: PlanGuards | null;
  readonly onTrip: TripEffect;
  readonly onBlind: BlindEffect;
  /** Minutes for which it waits for a guard that cannot judge, before it is held. */
  readonly patienceMinutes: number;
  readonly raiseBetween: RaiseHours | null;
  /** Preset that its steps and guards are of; null when they are its own. */
  readonly preset: PlanPresetName | null;
  readonly createdAt: string;
  /** Actor, as the audit writes it. */
  readonly createdBy: string;
};

/** Plan that is not stored, as a dry run shows it. */
export type UnstoredPlan = Omit<RolloutPlan, 'id' | 'createdAt' | 'createdBy'>;

/** Ready-made plan. */
export type NamedPreset = {
  readonly name: PlanPresetName;
  readonly steps: readonly PlannedStep[];
  readonly guards: PlanGuards;
};

/**
 * Rate of a signal, in percent with one decimal: the ends are those of its 95 % interval. That of silent ones
 * is the difference to the share of silent ones among the other devices, where that is known.
 */
export type SignalRate = {
  /** Devices that could have shown it by now. */
  readonly base: number;
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
