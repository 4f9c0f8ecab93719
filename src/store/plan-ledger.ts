// The part of the ledger that keeps roll-out plans and what check-ins tell of a release. `Ledger` states the
// obligations of all methods.

import type { DevicePage } from '../contract/console-fleet.ts';
import type { Failure, LostRight, Outcome, UnknownRelease } from '../contract/failure.ts';
import type { ReleaseAdoption, ReleaseTrouble } from '../contract/release-trouble.ts';
import type {
  Health,
  PlanAction,
  RolloutPlan,
  Signal,
  UnstoredPlan,
} from '../contract/rollout-plan.ts';
import type { PlanDefinition, PlanTime } from '../domain/rollout/plan-state.ts';
import type { Changed } from './changed.ts';
import type { DeviceFilter } from './fleet-ledger.ts';
import type { KnownStates } from './known-state.ts';
import type { Actor } from './ledger-terms.ts';
import type { Reach } from './reach.ts';
import type { HeldSnapshot, Rehearsal } from './rehearsal.ts';
import type { ReleaseName } from './release-name.ts';

/** Open plan that may have something to do. */
export type PlanToDrive = ReleaseName & { readonly id: string };

/** Plan that is not made, and what it would find. */
export type RehearsedDefinition = {
  readonly version: string;
  readonly plan: UnstoredPlan;
  /** Devices of the channel and its followers by which its guards could judge, about. */
  readonly known: number;
  /** Roll-out from which it would begin. */
  readonly rolloutPct: number;
};

/** Device that could not install a release. */
export type ReportedFailure = {
  readonly appId: string;
  /** Channel that the device asks. */
  readonly channel: string;
  readonly deviceId: string;
  /** Version that it runs; undefined where that is not known. */
  readonly runs: string | undefined;
  /** Canonical version that it could not install. */
  readonly canonicalVersion: string;
  readonly reason: string | undefined;
  /** Address of the client, of an IPv6 one its /64; undefined for a report with a key. */
  readonly network: string | undefined;
};

/** Filter of the devices that show a signal; `after` is `next` of the page before. */
export type SignalDeviceFilter = Omit<DeviceFilter, 'channel'>;

export interface PlanLedger {
  /**
   * Makes a plan of a release that has no open one. A release that was never published is set to 0 % in the
   * same transaction.
   */
  createPlan(
    reach: Reach,
    name: ReleaseName,
    definition: PlanDefinition,
    actor: Actor,
    reason?: string,
    known?: KnownStates,
  ): Promise<Outcome<Changed<RolloutPlan>, UnknownRelease | 'planRefused' | LostRight>>;

  /**
   * Does what `createPlan` does, with its refusals, and takes it back; tells what its first raise changes.
   */
  rehearsePlan(
    reach: Reach,
    name: ReleaseName,
    definition: PlanDefinition,
    actor: Actor,
    held?: HeldSnapshot,
    known?: KnownStates,
  ): Promise<Outcome<Rehearsal<RehearsedDefinition>, UnknownRelease | 'planRefused' | LostRight>>;

  /** Does what somebody asks of the newest plan of a release. */
  steerPlan(
    reach: Reach,
    name: ReleaseName,
    action: PlanAction,
    actor: Actor,
    reason?: string,
  ): Promise<Outcome<RolloutPlan, UnknownRelease | 'unknownPlan' | 'planRefused' | LostRight>>;

  /** Reads the newest plan of a release, with the release's health. */
  readPlan(
    reach: Reach,
    name: ReleaseName,
  ): Promise<
    Outcome<{ readonly plan: RolloutPlan; readonly health: Health }, UnknownRelease | 'unknownPlan'>
  >;

  /**
   * Reads the health of a release by the guards of its newest plan, or as usual. `knownForMinutes` replaces
   * the time for which devices must have been known.
   */
  readHealth(
    reach: Reach,
    name: ReleaseName,
    knownForMinutes?: number,
  ): Promise<Outcome<Health, UnknownRelease>>;

  /**
   * Reads where the trouble of a release is: its signals by platform and by the version before, and why
   * devices failed. Devices count that its health counts.
   */
  readTrouble(reach: Reach, name: ReleaseName): Promise<Outcome<ReleaseTrouble, UnknownRelease>>;

  /**
   * Reads how a release spreads, and how the one before it did at the same age; null for one that was never
   * published. Devices count that were known for as long before their release as the health of this one asks.
   */
  readReleaseAdoption(
    reach: Reach,
    name: ReleaseName,
  ): Promise<Outcome<ReleaseAdoption | null, UnknownRelease>>;

  /**
   * Reads a page of the devices that show a signal of a release, of those that its health counts, in an order
   * that stays. A page of few devices among many may have fewer than asked for, or none, and still a next.
   */
  listSignalDevices(
    reach: Reach,
    name: ReleaseName,
    signal: Signal,
    filter: SignalDeviceFilter,
  ): Promise<Outcome<DevicePage, UnknownRelease>>;

  /** Moves the time on in which the waits of plans are counted, and returns it. */
  countPlanTime(): Promise<PlanTime>;

  /**
   * Gives out at most `countMax` plans that have something to do now: those with a step that is due, then
   * those whose guards were not checked for `checkMs`, longest first. They are given to nobody else for some
   * seconds, unless they are driven before.
   */
  listPlansToDrive(checkMs: number, countMax: number): Promise<readonly PlanToDrive[]>;

  /**
   * Drives a plan, in one transaction with what it does to its release. Whoever drives it at the same time
   * waits, and finds it done. `seenUpToMs` is the counted time of which all check-ins are recorded; undefined
   * when that is not known.
   */
  drivePlan(
    plan: PlanToDrive,
    seenUpToMs: number | undefined,
    known?: KnownStates,
  ): Promise<Outcome<Changed<RolloutPlan>, UnknownRelease | 'unknownPlan'>>;

  /**
   * Records failures of devices that were on record before the release was published, each once for a
   * release; others are passed over, as are versions that neither the channel has nor the one it follows.
   */
  recordFailures(failures: readonly ReportedFailure[]): Promise<void>;

  /** Records the failures of a report with a key, for an actor that may still report. */
  recordReportedFailures(
    failures: readonly ReportedFailure[],
    actor: Actor,
  ): Promise<Failure<LostRight> | undefined>;
}
