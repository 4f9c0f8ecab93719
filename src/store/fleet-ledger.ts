// The parts of the ledger that record the fleet and drive rollout plans: devices, their labels, the
// versions they ran, the counts of all these, and plans with their signals. The obligations of `ledger.ts`
// hold here too.

import type {
  AdoptionPoint,
  DeviceDetail,
  DevicePage,
  DeviceRecord,
  FleetCell,
} from '../contract/console-fleet.ts';
import type { Failure, LostRight, Outcome, UnknownRelease } from '../contract/failure.ts';
import type { FailureBreakdown, ReleaseAdoption } from '../contract/failure-breakdown.ts';
import type {
  Health,
  PlanAction,
  RolloutPlan,
  Signal,
  UnstoredPlan,
} from '../contract/rollout-plan.ts';
import type { Labels } from '../domain/decision/targeting.ts';
import type { CheckIn } from '../domain/fleet/check-in.ts';
import type { PlanDefinition, PlanTime } from '../domain/rollout/plan-state.ts';
import type { DeviceName, LabelPosition, StoredLabels } from './label-store.ts';
import type {
  Actor,
  Changed,
  DryRunResult,
  HeldSnapshot,
  KnownStates,
  ReleaseName,
  TenantScope,
} from './ledger-terms.ts';

export type DeviceFilter = {
  readonly version?: string | undefined;
  /** Version that the device's must be lower than. */
  readonly below?: string | undefined;
  readonly channel?: string | undefined;
  readonly platform?: string | undefined;
  /** Label that the device must have, with its value. */
  readonly label?: { readonly key: string; readonly value: string } | undefined;
  /** Earliest time at which the device was last seen, RFC 3339. */
  readonly seenSince?: string | undefined;
  /** Canonical version of the release that was offered to it last. */
  readonly offered?: string | undefined;
  /** Whether it runs the version that was offered to it last. */
  readonly moved?: 'yes' | 'no' | undefined;
  /** Device id after which the page begins; undefined for the first page. */
  readonly after?: string | undefined;
  readonly limit: number;
};

/** Devices to sample. */
export type SampleScope = {
  readonly appId: string;
  /** Names of channels. */
  readonly channels: readonly string[];
  /** Keys of the labels that are wanted. */
  readonly labelKeys: readonly string[];
};

/** What a decision for a device depends on. */
export type SampledDevice = Pick<
  DeviceRecord,
  'deviceId' | 'channel' | 'version' | 'platform' | 'arch' | 'client' | 'bundle'
> & { readonly labels: Labels };

export type DeviceSample = {
  readonly devices: readonly SampledDevice[];
  /** Number of devices that they stand for: an estimate, unless they are all. */
  readonly total: number;
  readonly isWhole: boolean;
};

/** Labels of a device as the ledger has them. */
export type RecordedLabels = StoredLabels & {
  /** Whether the ledger knows the device. */
  readonly isRecorded: boolean;
};

/** Changes of labels after a position, oldest first. */
export type LabelChanges = Pick<LabelPosition, 'epoch'> & {
  /** Position of the newest change that there is; 0 when there is none. */
  readonly newest: number;
  /** Devices with their present labels, each at the position of its latest change. */
  readonly changed: readonly (StoredLabels & Pick<LabelPosition, 'position'>)[];
};

/** Numbers of new devices that checks may bring to the record in one minute; 0 is no bound. */
export type AdmissionBounds = {
  /** Bound for each network of clients (`readNetwork`), and ten times that for each /48 of IPv6. */
  readonly perNetwork: number;
  readonly perApp: number;
};

/** Whether check-ins waited in a queue, or a caller waits for them. */
export type CheckKind = 'queued' | 'awaited';

/** Check of a new device that was not recorded, with the bound that was met. */
export type UnadmittedCheck = DeviceName & {
  /** Network that the device asked from; undefined for an unknown one. */
  readonly network: string | undefined;
  readonly bound: 'network' | 'wide network' | 'app';
};

export type RecordedChecks = {
  /** Merged labels of the devices whose check-in carried labels and was recorded. */
  readonly labels: readonly StoredLabels[];
  readonly unadmitted: readonly UnadmittedCheck[];
  /** For a caller with a name: devices whose check-in said nothing new, and changed nothing. */
  readonly left: readonly LeftDevice[];
};

/**
 * Device that was left as it is on record, or was seen later than the check-in says; `seenAt` in milliseconds
 * since 1970 is its last-seen time there.
 */
export type LeftDevice = DeviceName & { readonly seenAt: number };

/**
 * State of a part of the devices: who recorded it last, and how often that has changed. Whoever records a
 * part alone, under a name, finds the same number of turns again.
 */
export type DeviceWriter = {
  /** Number of the part (`devicePart`). */
  readonly part: number;
  /** Name that was given with the check-ins; empty for a caller without one. */
  readonly writer: string;
  readonly turns: number;
  /** Number of devices of the part that were recorded for callers that waited, so far. */
  readonly awaited: number;
};

/** Devices of an app to delete: those first seen after a time that run a version, or any. */
export type DevicePurge = {
  readonly app: { readonly id: string; readonly ref: string; readonly organizationId: string };
  /** RFC 3339. */
  readonly firstSeenAfter: string;
  /** Canonical version; undefined for any. */
  readonly version: string | undefined;
};

/** Place that a purge has reached. */
export type PurgePlace = {
  /** Device id after which it goes on; undefined at its beginning and at its end. */
  readonly after: string | undefined;
  /** Its entry in the audit; undefined before its first deletion. */
  readonly auditEntryId: string | undefined;
  /** Number of devices that it has deleted. */
  readonly devices: number;
};

export type PurgedDevices = {
  /** Ids of the devices that were deleted. */
  readonly purged: readonly string[];
  readonly place: PurgePlace;
};

export interface FleetLedger {
  /** Reads the ledger's clock, in milliseconds since 1970. It orders everything that is recorded. */
  readTime(): Promise<number>;

  /**
   * Records check-ins that waited in a queue, in one statement, together with the counts. The newest check-in
   * of a device wins, so batches may be repeated and arrive in any order. A time in the future counts as the
   * ledger's present, in a check-in as in what is stored. A row is not rewritten when only its `lastSeen` is
   * less than the freshness of devices newer within the same hour. Check-ins of unknown apps are dropped.
   * Returns the merged labels of the devices whose check-in carried labels. Durable when it resolves.
   */
  recordCheckIns(checkIns: readonly CheckIn[]): Promise<readonly StoredLabels[]>;

  /**
   * Records check-ins for callers that wait for them, otherwise like `recordCheckIns`. They are newer than
   * everything that is recorded, and their time is the ledger's present: `at` is not looked at, except to
   * order check-ins of one device.
   */
  recordAwaited(checkIns: readonly CheckIn[]): Promise<readonly StoredLabels[]>;

  /** Records check-ins, as `recordAwaited` does, that an actor sent on behalf of the devices. */
  recordReport(
    checkIns: readonly CheckIn[],
    actor: Actor,
  ): Promise<Outcome<readonly StoredLabels[], LostRight>>;

  /**
   * Records check-ins of devices that asked themselves, like `recordCheckIns` (`queued`) or `recordAwaited`
   * (`awaited`), except those of devices that are not on record when their minute has had as many new ones as
   * the bounds allow. The minute is that of the check-in's time, at most an hour ago. New devices are
   * recorded and counted in one transaction: check-ins that are repeated count once. `isRecorded` tells
   * devices that the caller knows to be on record, to save looking for them. A caller that remembers what it
   * recorded gives its name as `writer`.
   */
  recordChecks(
    checkIns: readonly CheckIn[],
    kind: CheckKind,
    bounds: AdmissionBounds,
    isRecorded?: (device: DeviceName) => boolean,
    writer?: string,
  ): Promise<RecordedChecks>;

  /**
   * Reads who recorded these parts of the devices last. Waits for whoever records them just now: what is
   * recorded after the answer, for callers that wait, is of a later time than it.
   */
  readWriters(parts: readonly number[]): Promise<readonly DeviceWriter[]>;

  /**
   * Reads which devices of these parts were recorded for callers that waited, after the number of them in
   * `since`, one for each part. Returns undefined when there are more than `limit`. Those of the last two
   * hours are known.
   */
  readAwaited(
    parts: readonly number[],
    since: readonly number[],
    limit: number,
  ): Promise<readonly DeviceName[] | undefined>;

  /**
   * Forgets at most `rowsMax` counts of new devices in minutes that no check-in counts in any more. Returns
   * how many it forgot.
   */
  forgetAdmissions(rowsMax: number): Promise<number>;

  /**
   * Deletes devices with their versions and their part in the counts, among the next thousand by their id,
   * and tells how far it came. A purge has one entry in the audit, which tells what it has deleted so far.
   */
  purgeDevices(
    purge: DevicePurge,
    place: PurgePlace,
    actor: Actor,
  ): Promise<Outcome<PurgedDevices, LostRight>>;

  /** Counts the devices that `purgeDevices` would delete in one call, and tells how far it looked. */
  countPurgeable(
    purge: DevicePurge,
    after: string | undefined,
  ): Promise<Pick<PurgePlace, 'after' | 'devices'>>;

  /** Reads the labels of these devices, in their order; an unknown device has none, at revision 0. */
  readLabels(devices: readonly DeviceName[]): Promise<readonly RecordedLabels[]>;

  /**
   * Reads at most `limit` changes of labels after a position of the present epoch; undefined reads none, only
   * the newest position. Changes have the order of their commits: after a reader has seen one, none comes
   * before it.
   */
  readLabelChanges(after: number | undefined, limit: number): Promise<LabelChanges>;

  /**
   * Reads the devices that were seen in the last 30 days on these channels: all while they are at most
   * 20,000, else about as many of them, chosen by chance, each device as likely as any other, and the same
   * ones each time. Fewer where most devices of the channels have not been seen for so long.
   */
  sampleDevices(scope: SampleScope): Promise<DeviceSample>;

  /** Reads a page of the app's devices, by device id. `app` is a ref or an id. */
  listDevices(app: string, filter: DeviceFilter): Promise<Outcome<DevicePage, 'unknownApp'>>;

  /** Reads one device with its version changes, newest first, at most as many as are to be kept. */
  readDevice(
    app: string,
    deviceId: string,
  ): Promise<Outcome<DeviceDetail, 'unknownApp' | 'unknownDevice'>>;

  /** Reads the present number of the app's devices per channel, version and platform. */
  readFleet(app: string): Promise<Outcome<readonly FleetCell[], 'unknownApp'>>;

  /** Reads the hourly series from `since` (RFC 3339) on, oldest first. */
  readAdoption(
    app: string,
    since: string,
  ): Promise<Outcome<readonly AdoptionPoint[], 'unknownApp'>>;

  /**
   * Deletes devices not seen since `devicesBefore` and adoption hours before `hoursBefore` (RFC 3339), at
   * most `rowsMax` of each, and updates the counts. Returns the number of deleted rows of each.
   */
  sweepFleet(
    devicesBefore: string,
    hoursBefore: string,
    rowsMax: number,
  ): Promise<{ readonly devices: number; readonly hours: number }>;

  /**
   * Deletes at most `rowsMax` version changes that are older than those which are to be kept of each device,
   * and looks at ten times as many, where the call before it ended. Returns how many it deleted.
   */
  trimHistories(rowsMax: number): Promise<number>;
}

// The part of the ledger that keeps rollout plans and what check-ins tell of a release. `Ledger` states the
// obligations of all methods.

/** Open plan that may have something to do. */
export type PlanToDrive = ReleaseName & { readonly id: string };

/** Plan that is not made, and what it would find. */
export type DryRunDefinition = {
  readonly version: string;
  readonly plan: UnstoredPlan;
  /** Devices of the channel and its followers by which its guards could judge, about. */
  readonly known: number;
  /** Rollout from which it would begin. */
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
    scope: TenantScope,
    name: ReleaseName,
    definition: PlanDefinition,
    actor: Actor,
    reason?: string,
    known?: KnownStates,
  ): Promise<Outcome<Changed<RolloutPlan>, UnknownRelease | 'planRefused' | LostRight>>;

  /**
   * Does what `createPlan` does, with its refusals, and takes it back; tells what its first raise changes.
   */
  dryRunPlan(
    scope: TenantScope,
    name: ReleaseName,
    definition: PlanDefinition,
    actor: Actor,
    held?: HeldSnapshot,
    known?: KnownStates,
  ): Promise<Outcome<DryRunResult<DryRunDefinition>, UnknownRelease | 'planRefused' | LostRight>>;

  /** Does what somebody asks of the newest plan of a release. */
  steerPlan(
    scope: TenantScope,
    name: ReleaseName,
    action: PlanAction,
    actor: Actor,
    reason?: string,
  ): Promise<Outcome<RolloutPlan, UnknownRelease | 'unknownPlan' | 'planRefused' | LostRight>>;

  /** Reads the newest plan of a release, with the release's health. */
  readPlan(
    scope: TenantScope,
    name: ReleaseName,
  ): Promise<
    Outcome<{ readonly plan: RolloutPlan; readonly health: Health }, UnknownRelease | 'unknownPlan'>
  >;

  /**
   * Reads the health of a release by the guards of its newest plan, or as usual. `knownForMinutes` replaces
   * the time for which devices must have been known.
   */
  readHealth(
    scope: TenantScope,
    name: ReleaseName,
    knownForMinutes?: number,
  ): Promise<Outcome<Health, UnknownRelease>>;

  /**
   * Reads how the failures of a release break down: its signals by platform and by the version before, and
   * why devices failed. Devices count that its health counts.
   */
  readFailureBreakdown(
    scope: TenantScope,
    name: ReleaseName,
  ): Promise<Outcome<FailureBreakdown, UnknownRelease>>;

  /**
   * Reads how a release spreads, and how the one before it did at the same age; null for one that was never
   * published. Devices count that were known for as long before their release as the health of this one asks.
   */
  readReleaseAdoption(
    scope: TenantScope,
    name: ReleaseName,
  ): Promise<Outcome<ReleaseAdoption | null, UnknownRelease>>;

  /**
   * Reads a page of the devices that show a signal of a release, of those that its health counts, in an order
   * that stays. A page of few devices among many may have fewer than asked for, or none, and still a next.
   */
  listSignalDevices(
    scope: TenantScope,
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
