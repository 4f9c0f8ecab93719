// Rollout plans, the health of a release, and its details (docs/contract.md 27).

export const PLAN_STATUSES = ['scheduled', 'running', 'held', 'completed', 'cancelled'] as const;
export type PlanStatus = (typeof PLAN_STATUSES)[number];

export const PLAN_ACTIONS = ['hold', 'resume', 'advance', 'cancel'] as const;
/** Action of a person or a key on a plan. */
export type PlanAction = (typeof PLAN_ACTIONS)[number];

/** Reasons of plans that a person or a key has steered: they only repeat the action. */
export const BARE_REASON = { hold: 'Held', cancel: 'Cancelled' } as const;

export const SIGNALS = ['failed', 'reverted', 'stuck', 'silent'] as const;
/** Sign that a release harms devices. */
export type Signal = (typeof SIGNALS)[number];

export const VERDICTS = ['too early', 'healthy', 'unhealthy'] as const;
type Verdict = (typeof VERDICTS)[number];

export const TRIP_EFFECTS = ['hold', 'pause'] as const;
/** Effect of a tripped guard: it holds the plan, or also pauses the release. */
export type TripEffect = (typeof TRIP_EFFECTS)[number];

export const BLIND_EFFECTS = ['hold', 'advance'] as const;
/**
 * What a plan does at the end of a hold if a guard with a limit has too few devices to judge: it waits and is
 * finally held, or continues.
 */
export type BlindEffect = (typeof BLIND_EFFECTS)[number];

export const PLAN_PRESET_NAMES = ['careful', 'normal', 'fast'] as const;
/** Names of ready-made plans, the slowest first. */
export type PlanPresetName = (typeof PLAN_PRESET_NAMES)[number];

/** Days of the week, as JavaScript counts them from Sunday. */
export const WEEK_DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;
type WeekDay = (typeof WEEK_DAYS)[number];

/** Hours of the week in which steps may begin. */
export type RaiseHours = {
  /** Days on which the hours open. */
  readonly days: readonly WeekDay[];
  /** `HH:MM` by the clock of the time zone; `from` is within the hours, `to` is not. */
  readonly from: string;
  readonly to: string;
  /** Name in the IANA database. */
  readonly timeZone: string;
};

/** What a running plan waits for after its hold. */
export type PlanWait = {
  /** Signal whose guard delays it; null while its hours are closed, or it waits for a region. */
  readonly guard: Signal | null;
  /** Region whose check-ins are not recorded yet. */
  readonly region?: string | undefined;
  /** RFC 3339. */
  readonly since: string;
  readonly reason: string;
};

/** Wait for a guard or a region. */
type OpenEndedWait = PlanWait & ({ readonly guard: Signal } | { readonly region: string });

/** Returns whether a plan waits for something whose end is not known: for anything but its hours. */
export function isOpenEnded(wait: PlanWait | null): wait is OpenEndedWait {
  return wait !== null && (wait.guard !== null || wait.region !== undefined);
}

/** Limits of signals in percent, and how signals are measured; a signal without a limit never trips. */
export type PlanGuards = {
  /** Minimum number of devices in the base of a signal before it trips. */
  readonly minimumDevices: number;
  readonly failedPercent?: number;
  readonly revertedPercent?: number;
  readonly stuckPercent?: number;
  readonly silentPercent?: number;
  readonly stuckAfterMinutes: number;
  readonly silentAfterMinutes: number;
  /** Minutes before the release's publication since which a device must be known. */
  readonly knownForMinutes: number;
  /** Minutes between the two checks that must find a signal above its limit. */
  readonly confirmMinutes: number;
  /** With `push`, only devices reported with a key count. */
  readonly source?: 'push';
};

/** Step of a plan before it is driven. */
export type PlannedStep = {
  readonly rollout: number;
  readonly holdMinutes: number;
};

/**
 * Step with its start and end, RFC 3339; for a step that the rollout reached without it, the time when it was
 * found reached.
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
  /** Reason of the status, for people; null if it needs none. */
  readonly reason: string | null;
  readonly steps: readonly PlanStep[];
  /** Index of the latest step that began or was reached; null before the first. */
  readonly step: number | null;
  /** End of the present wait, RFC 3339; null if unknown. */
  readonly nextAt: string | null;
  /** What it waits for after its hold; null while it waits for time only. */
  readonly waitingFor: PlanWait | null;
  readonly guards: PlanGuards | null;
  readonly onTrip: TripEffect;
  readonly onBlind: BlindEffect;
  /** Minutes for which it waits for a guard that cannot judge, before it is held. */
  readonly patienceMinutes: number;
  readonly raiseBetween: RaiseHours | null;
  /** Preset of its steps and guards; null if they are its own. */
  readonly preset: PlanPresetName | null;
  readonly createdAt: string;
  /** Actor, as in the audit log. */
  readonly createdBy: string;
};

/** Plan that is not stored, as a dry run shows it. */
export type UnstoredPlan = Omit<RolloutPlan, 'id' | 'createdAt' | 'createdBy'>;

export type NamedPreset = {
  readonly name: PlanPresetName;
  readonly steps: readonly PlannedStep[];
  readonly guards: PlanGuards;
};

/**
 * Rate of a signal with the ends of its 95 % interval, in percent with one decimal. For `silent` it is the
 * difference from the rate of the other devices, if that is known.
 */
export type SignalRate = {
  /** Devices that could have shown it by now. */
  readonly base: number;
  readonly percent: number;
  readonly low: number;
  readonly high: number;
  /** Limit of the plan's guard; null if there is none. */
  readonly limit: number | null;
  /** Whether the plan is held because of it. */
  readonly tripped: boolean;
  /**
   * Devices of the network without which too few are left to judge by, while the guard's condition holds with
   * all devices; null otherwise.
   */
  readonly network: NetworkShare | null;
};

/** Devices of one network: of `base`, `count` show a signal. */
type NetworkShare = { readonly count: number; readonly base: number };

/** Health of a release, from the check-ins of known devices. */
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

// Details of a release beside its health: where its signals come from, why devices failed, and how it spreads
// compared with the previous release.

/** Failures of a release by place and reason, for the same devices as its health. */
export type FailureBreakdown = {
  readonly signals: Readonly<Record<Signal, SignalBreakdown>>;
  /** Number of devices that each examined one stands for; 1 if all were examined. */
  readonly scale: number;
  /** Most frequent reasons of the newest 10,000 failures that the health counts, at most 20. */
  readonly reasons: readonly FailureReason[];
};

/** Devices that show a signal, of those that could. */
export type SignalShare = {
  readonly devices: number;
  readonly base: number;
};

/** Devices of one platform or of one previous version; the name is empty if unknown. */
type NamedShare = SignalShare & { readonly name: string };

/** The five names with the most devices that show the signal, and all others together. */
export type SignalPlaces = {
  readonly named: readonly NamedShare[];
  /** Null if there are none. */
  readonly others: SignalShare | null;
};

/** Signal among the examined devices. */
export type SignalBreakdown = SignalShare & {
  readonly platforms: SignalPlaces;
  /** By previous version; by present version for devices that never installed the release. */
  readonly versions: SignalPlaces;
};

/** Reason that devices gave for their failure; null for none. */
export type FailureReason = {
  /** Text as devices sent it, at most 256 characters. */
  readonly reason: string | null;
  readonly devices: number;
  /** Time of the latest failure with this reason, RFC 3339. */
  readonly at: string;
};

/** Devices that had installed a release at an age, and those that were offered it. */
export type AdoptionAtAge = {
  /** Whole hours since the release was published. */
  readonly hours: number;
  readonly devices: number;
  readonly offered: number;
};

/** Adoption of a release at equally spaced ages, up to its own or the other's present age. */
export type AdoptionCurve = {
  readonly version: string;
  /** Empty if its installations were not counted, or were deleted since. */
  readonly ages: readonly AdoptionAtAge[];
};

/** Adoption of a release, and of the previous one at the same ages. */
export type ReleaseAdoption = {
  readonly release: AdoptionCurve;
  /** Release that was published before it on the channel and not rolled back; null if there is none. */
  readonly before: AdoptionCurve | null;
};
