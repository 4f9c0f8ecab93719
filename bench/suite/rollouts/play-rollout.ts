// Plays the rollout of one release: the plan and its guards are those of the service, looked at once a
// minute; only time and devices are simulated.

import { isFailure } from '../../../src/contract/failure.ts';
import type { PlanGuards, PlannedStep } from '../../../src/contract/rollout-plan.ts';
import { hashText } from '../../../src/domain/decision/cohort.ts';
import { drivePlan } from '../../../src/domain/rollout/drive-plan.ts';
import type { PlanDefinition, PlannedRelease } from '../../../src/domain/rollout/plan-state.ts';
import type { SignalCounts } from '../../../src/domain/rollout/signal-counts.ts';
import { newPlan } from '../../../src/domain/rollout/steer-plan.ts';
import {
  OTHERS_LOOKED_AT,
  REACHED_LOOKED_AT,
} from '../../../src/store/ledger/rollout/rollout-signals.ts';
import { SignalCounter } from './signal-counter.ts';
import { type FleetSettings, type SimulatedDevice, SimulatedFleet } from './simulated-fleet.ts';

const MINUTE_MS = 60_000;
const DAY_MINUTES = 1440;
/** Number of devices below which a preset goes on where its guards cannot judge. */
const JUDGED_DEVICES_MIN = 1000;

type RolloutSettings = FleetSettings & {
  readonly days: number;
  /** Whole minutes since a Monday 0:00, less than a week. */
  readonly publishedAtMinute: number;
  readonly plan: { readonly steps: readonly PlannedStep[]; readonly guards: PlanGuards };
};

export type PlayedRollout = ReturnType<typeof playRollout>;

/** Onlooker of a play; times are milliseconds since a Monday 0:00. */
export type Onlooker = {
  checked?(device: SimulatedDevice, at: number, isOffered: boolean, hasFailed: boolean): void;
  raised?(at: number): void;
  /** Counts at the beginning of a minute, before its checks. */
  counted?(at: number, counts: SignalCounts): void;
};

/** Plays until the plan is over or was stopped, or the time is. */
export function playRollout(settings: RolloutSettings, onlooker: Onlooker = {}) {
  const minutes = settings.days * DAY_MINUTES;
  const publishedAt = settings.publishedAtMinute * MINUTE_MS;
  const endsAt = publishedAt + minutes * MINUTE_MS;
  const fleet = new SimulatedFleet({ ...settings, publishedAt, endsAt });
  const { counter, known } = counterOf(settings, fleet, publishedAt, minutes);
  const agenda = new Agenda(fleet.devices.length, minutes, publishedAt);
  let release: PlannedRelease = { status: 'published', rolloutPct: 0, wasPublished: true };
  /** Minute in which a step was due, and minutes by which one began later at most. */
  let [plannedAt, lateMinutesMax] = [0, 0];
  const check = (index: number, minute: number): void => {
    const device = fleet.devices[index] as SimulatedDevice;
    // Each at a second of its own, but never at the begin of a minute, at which is counted.
    const sinceMs = minute * MINUTE_MS + (1 + (index % 59)) * 1000;
    const at = publishedAt + sinceMs;
    const { status, rolloutPct } = release;
    const checked = fleet.check(device, at, status === 'published' ? rolloutPct : 0);
    if (checked === undefined) return;
    const { isOffered, hasFailed } = checked;
    counter.record(index, sinceMs, device.runs, isOffered);
    if (hasFailed) counter.fail(index);
    onlooker.checked?.(device, at, isOffered, hasFailed);
    agenda.plan(index, fleet.nextCheck(device, at), minute);
  };
  for (const [index, device] of fleet.devices.entries()) {
    agenda.plan(index, fleet.firstCheck(device));
  }
  const begun = newPlan(definitionOf(settings, known), release, timeAt(0, publishedAt));
  if (isFailure(begun)) throw new Error(begun.message);
  let state = begun;
  let counts = counter.counts(0);
  let minute = 0;
  for (; minute < minutes && state.status === 'running'; minute++) {
    counts = counter.counts(minute);
    const time = timeAt(minute, publishedAt);
    onlooker.counted?.(time.nowMs, counts);
    const driven = drivePlan(state, release, time, { counts, seenUpToMs: time.countedMs });
    const { act } = driven;
    state = driven.state;
    if (act?.kind === 'pause') release = { ...release, status: 'paused' };
    else if (act !== undefined) {
      release = { ...release, rolloutPct: act.rollout };
      counter.beginStep(minute);
      onlooker.raised?.(time.nowMs);
      lateMinutesMax = Math.max(lateMinutesMax, minute - plannedAt);
      plannedAt += state.steps[state.step ?? 0]?.holdMinutes ?? 0;
    }
    agenda.take(minute, (index) => check(index, minute));
  }
  const { status, tripped } = state;
  const endedAfterDays = (minute - 1) / DAY_MINUTES;
  const { rolloutPct } = release;
  const heldFor = [...tripped, ...(state.undecided ?? [])];
  const isPaused = release.status === 'paused';
  return { status, heldFor, isPaused, counts, rolloutPct, endedAfterDays, lateMinutesMax };
}

/** Returns the plan as a preset has it on a fleet of which so many devices are known. */
function definitionOf({ plan }: RolloutSettings, known: number): PlanDefinition {
  const onBlind = known < JUDGED_DEVICES_MIN ? 'advance' : 'hold';
  return {
    ...{ ...plan, startAtMs: undefined, onTrip: 'pause', patienceMinutes: DAY_MINUTES },
    ...{ raiseBetween: null, preset: null, onBlind },
  };
}

class Agenda {
  private readonly minutes: number;
  private readonly publishedAt: number;
  /** First device of a minute, and after each device the next one; -1 for none. */
  private readonly firstOf: Int32Array;
  private readonly nextOf: Int32Array;

  constructor(devices: number, minutes: number, publishedAt: number) {
    this.minutes = minutes;
    this.publishedAt = publishedAt;
    this.firstOf = new Int32Array(minutes).fill(-1);
    this.nextOf = new Int32Array(devices).fill(-1);
  }

  /** Notes when a device asks next, not before the minute after that of its last check. */
  plan(device: number, at: number, last = -1): void {
    const minute = Math.max(last + 1, Math.floor((at - this.publishedAt) / MINUTE_MS));
    if (minute >= this.minutes) return;
    this.nextOf[device] = this.firstOf[minute] as number;
    this.firstOf[minute] = device;
  }

  take(minute: number, work: (device: number) => void): void {
    for (let device = this.firstOf[minute] as number; device >= 0; ) {
      const next = this.nextOf[device] as number;
      work(device);
      device = next;
    }
  }
}

function counterOf(
  { plan: { guards } }: RolloutSettings,
  fleet: SimulatedFleet,
  publishedAt: number,
  minutes: number,
): { readonly counter: SignalCounter; readonly known: number } {
  const { knownForMinutes, stuckAfterMinutes, silentAfterMinutes } = guards;
  const knownBefore = publishedAt - knownForMinutes * MINUTE_MS;
  const devices = fleet.devices.map(({ id, firstSeen, address }) => {
    // Another seed than that of cohorts: a cohort is to be looked at like the rest.
    return { isKnown: firstSeen <= knownBefore, hash: hashText(id, 1) >>> 0, network: address };
  });
  const counter = new SignalCounter({
    ...{ minutes: minutes + 1, stuckAfterMinutes, silentAfterMinutes, devices },
    ...{ reachedLookedAt: REACHED_LOOKED_AT, othersLookedAt: OTHERS_LOOKED_AT },
  });
  return { counter, known: devices.filter(({ isKnown }) => isKnown).length };
}

function timeAt(minute: number, publishedAt: number) {
  const countedMs = minute * MINUTE_MS;
  return { nowMs: publishedAt + countedMs, countedMs };
}
