// Plays the roll-out of one release: the plan and its guards are those of the service, looked at once a
// minute; only time and devices are simulated.

import { isFailure } from '../../../src/contract/failure.ts';
import type { PlanGuards, PlannedStep } from '../../../src/contract/rollout-plan.ts';
import { hashText } from '../../../src/domain/decision/cohort.ts';
import { drivePlan, type PlanAct } from '../../../src/domain/rollout/drive-plan.ts';
import type { SignalCounts } from '../../../src/domain/rollout/judge-health.ts';
import type { PlannedRelease, PlanState } from '../../../src/domain/rollout/plan-state.ts';
import { newPlan } from '../../../src/domain/rollout/steer-plan.ts';
import {
  OTHERS_LOOKED_AT,
  REACHED_LOOKED_AT,
} from '../../../src/ledger/query/signal-conditions.ts';
import { SignalCounter } from './signal-counter.ts';
import { type SimulatedDevice, SimulatedFleet } from './simulated-fleet.ts';
import type { Trouble } from './trouble.ts';

const MINUTE_MS = 60_000;
const DAY_MINUTES = 1440;

export type RolloutSettings = {
  readonly devices: number;
  /** Further devices that strangers invent. */
  readonly invented: number;
  readonly days: number;
  /** Whole minutes since a Monday 0:00, less than a week. */
  readonly publishedAtMinute: number;
  readonly seed: number;
  readonly trouble: Trouble;
  readonly plan: { readonly steps: readonly PlannedStep[]; readonly guards: PlanGuards };
};

export type PlayedRollout = {
  readonly status: PlanState['status'];
  readonly reason: string | null;
  readonly rolloutPct: number;
  /** Signals for which the plan was stopped. */
  readonly tripped: PlanState['tripped'];
  /** Days from the publishing to the last raise, and to the end of the play. */
  readonly raisedAfterDays: number;
  readonly endedAfterDays: number;
  /** Minutes by which the latest step began after the sum of the holds before it. */
  readonly lateMinutesMax: number;
  readonly counts: SignalCounts;
};

/** Onlooker of a play; times are milliseconds since a Monday 0:00. */
export type Onlooker = {
  checked?(device: SimulatedDevice, at: number, isOffered: boolean, hasFailed: boolean): void;
  /** Counts at the beginning of a minute, before its checks. */
  counted?(at: number, counts: SignalCounts): void;
};

/** Plays until the plan is over or was stopped, or the time is. */
export function playRollout(settings: RolloutSettings, onlooker: Onlooker = {}): PlayedRollout {
  return new Play(settings, onlooker).run();
}

class Play {
  private readonly settings: RolloutSettings;
  private readonly onlooker: Onlooker;
  private readonly minutes: number;
  private readonly publishedAt: number;
  private readonly fleet: SimulatedFleet;
  private readonly counter: SignalCounter;
  /** First device that asks in a minute, and after each device the next one; -1 for none. */
  private readonly firstOf: Int32Array;
  private readonly nextOf: Int32Array;
  private release: PlannedRelease = { status: 'published', rolloutPct: 0, wasPublished: true };
  private raisedAt = 0;
  private plannedAt = 0;
  private lateMinutesMax = 0;

  constructor(settings: RolloutSettings, onlooker: Onlooker) {
    const { days, invented, plan } = settings;
    this.settings = settings;
    this.onlooker = onlooker;
    this.minutes = days * DAY_MINUTES;
    this.publishedAt = settings.publishedAtMinute * MINUTE_MS;
    const endsAt = this.publishedAt + this.minutes * MINUTE_MS;
    this.fleet = new SimulatedFleet({ ...settings, publishedAt: this.publishedAt, endsAt });
    const devices = settings.devices + invented;
    const knownBefore = this.publishedAt - plan.guards.knownForMinutes * MINUTE_MS;
    const known = this.fleet.devices.map(({ firstSeen }) => firstSeen <= knownBefore);
    // Another seed than that of cohorts: a cohort is to be looked at like the rest.
    const hashes = Uint32Array.from(this.fleet.devices, ({ id }) => hashText(id, 1));
    const { stuckAfterMinutes, silentAfterMinutes } = plan.guards;
    this.counter = new SignalCounter({
      ...{ devices, minutes: this.minutes + 1, stuckAfterMinutes, silentAfterMinutes },
      isKnown: (device) => known[device] === true,
      hashOf: (device) => hashes[device] as number,
      ...{ reachedLookedAt: REACHED_LOOKED_AT, othersLookedAt: OTHERS_LOOKED_AT },
    });
    this.firstOf = new Int32Array(this.minutes).fill(-1);
    this.nextOf = new Int32Array(devices).fill(-1);
  }

  run(): PlayedRollout {
    for (const [index, device] of this.fleet.devices.entries()) {
      this.expect(index, this.fleet.firstCheck(device));
    }
    let state = this.begin();
    let minute = 0;
    let counts = this.counter.counts(0);
    for (; minute < this.minutes && state.status === 'running'; minute++) {
      counts = this.counter.counts(minute);
      const time = this.timeAt(minute);
      this.onlooker.counted?.(time.nowMs, counts);
      const driven = drivePlan(state, this.release, time, { counts, seenUpToMs: time.countedMs });
      if (driven.act !== undefined) this.act(driven.act, driven.state, minute);
      state = driven.state;
      this.checkAll(minute);
    }
    return {
      ...{ status: state.status, reason: state.reason, tripped: state.tripped, counts },
      rolloutPct: this.release.rolloutPct,
      raisedAfterDays: this.raisedAt / DAY_MINUTES,
      endedAfterDays: (minute - 1) / DAY_MINUTES,
      lateMinutesMax: this.lateMinutesMax,
    };
  }

  private begin(): PlanState {
    const definition = { ...this.settings.plan, startAtMs: undefined, onTrip: 'pause' } as const;
    const plan = newPlan(definition, this.release, this.timeAt(0));
    if (isFailure(plan)) throw new Error(plan.message);
    return plan;
  }

  private timeAt(minute: number) {
    const countedMs = minute * MINUTE_MS;
    return { nowMs: this.publishedAt + countedMs, countedMs };
  }

  private act(act: PlanAct, { step, steps }: PlanState, minute: number): void {
    if (act.kind === 'pause') {
      this.release = { ...this.release, status: 'paused' };
      return;
    }
    this.release = { ...this.release, rolloutPct: act.rollout };
    this.raisedAt = minute;
    this.lateMinutesMax = Math.max(this.lateMinutesMax, minute - this.plannedAt);
    this.plannedAt += steps[step ?? 0]?.holdMinutes ?? 0;
  }

  /** Has all devices check that do so in this minute. */
  private checkAll(minute: number): void {
    let index = this.firstOf[minute] as number;
    while (index >= 0) {
      const next = this.nextOf[index] as number;
      this.check(index, minute);
      index = next;
    }
  }

  private check(index: number, minute: number): void {
    const device = this.fleet.devices[index] as SimulatedDevice;
    // Each at a second of its own, but never at the begin of a minute, at which is counted.
    const sinceMs = minute * MINUTE_MS + (1 + (index % 59)) * 1000;
    const at = this.publishedAt + sinceMs;
    const { status, rolloutPct } = this.release;
    const checked = this.fleet.check(device, at, status === 'published' ? rolloutPct : 0);
    if (checked === undefined) return;
    const { isOffered, hasFailed } = checked;
    this.counter.record(index, sinceMs, device.runs, isOffered);
    if (hasFailed) this.counter.fail(index, device.address);
    this.onlooker.checked?.(device, at, isOffered, hasFailed);
    this.expect(index, this.fleet.nextCheck(device, at), minute);
  }

  /** Notes when a device asks next, not before the minute after that of its last check. */
  private expect(index: number, at: number, last = -1): void {
    const minute = Math.max(last + 1, Math.floor((at - this.publishedAt) / MINUTE_MS));
    if (minute >= this.minutes) return;
    this.nextOf[index] = this.firstOf[minute] as number;
    this.firstOf[minute] = index;
  }
}
