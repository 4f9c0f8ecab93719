// The parts of the ledger that record the fleet and drive rollout plans: devices, their labels, versions and
// counts, and plans with their signals. The obligations of `ledger.ts` hold here too.

import type {
  AdoptionPoint,
  DeviceCount,
  DeviceDetail,
  DevicePage,
  DeviceRecord,
  DeviceRelease,
  FleetCell,
} from '../contract/console-fleet.ts';
import type { Failure, LostRight, Outcome, UnknownRelease } from '../contract/failure.ts';
import type { FailureBreakdown, ReleaseAdoption } from '../contract/failure-breakdown.ts';
import type { MistakenId } from '../contract/mistaken-id.ts';
import type { Health, PlanAction, RolloutPlan, Signal } from '../contract/rollout-plan.ts';
import type { Labels } from '../domain/decision/targeting.ts';
import type { CheckIn } from '../domain/fleet/check-in.ts';
import type { RecordedUpTo } from '../domain/rollout/drive-plan.ts';
import type { PlanDefinition, PlanTime } from '../domain/rollout/plan-state.ts';
import type { DeviceName, LabelPosition, StoredLabels } from './label-store.ts';
import type {
  Actor,
  Changed,
  KnownStates,
  ReleaseName,
  RunChange,
  TenantScope,
} from './ledger-terms.ts';

export type DeviceFilter = {
  readonly version?: string | undefined;
  /** Upper bound of the version, exclusive. */
  readonly below?: string | undefined;
  readonly channel?: string | undefined;
  readonly platform?: string | undefined;
  /** Label key and value that the device must have. */
  readonly label?: { readonly key: string; readonly value: string } | undefined;
  /** Earliest time at which the device was last seen, RFC 3339. */
  readonly seenSince?: string | undefined;
  /** Canonical version of the release that was last offered to the device. */
  readonly offered?: string | undefined;
  /** Whether the device runs the version that was last offered to it. */
  readonly moved?: 'yes' | 'no' | undefined;
  /** Text that the device id begins with or, where none does, contains, ignoring case. */
  readonly id?: string | undefined;
  /** Cursor: the last device id of the previous page; undefined for the first page. */
  readonly after?: string | undefined;
  readonly limit: number;
};

export type SampleScope = {
  readonly appId: string;
  /** Names of channels. */
  readonly channels: readonly string[];
  /** Keys of the labels to read. */
  readonly labelKeys: readonly string[];
};

/** Fields of a device on which a decision depends. */
export type SampledDevice = Pick<
  DeviceRecord,
  'deviceId' | 'channel' | 'version' | 'platform' | 'arch' | 'client' | 'bundle'
> & { readonly labels: Labels };

export type DeviceSample = {
  readonly devices: readonly SampledDevice[];
  /** Number of devices that the sample stands for; an estimate unless `isWhole`. */
  readonly total: number;
  readonly isWhole: boolean;
};

export type RecordedLabels = StoredLabels & {
  /** Whether the device is on record. */
  readonly isRecorded: boolean;
};

/** Changes of labels after a position, oldest first. */
export type LabelChanges = Pick<LabelPosition, 'epoch'> & {
  /** Position of the newest change in the ledger; 0 when there is none. */
  readonly newest: number;
  /** Devices with their present labels, each with the position of its latest change. */
  readonly changed: readonly (StoredLabels & Pick<LabelPosition, 'position'>)[];
};

/** Limits on new devices per minute that checks may add to the record; 0 is no limit. */
export type AdmissionBounds = {
  /** Limit for each network of clients (`readNetwork`); ten times that applies to each /48 of IPv6. */
  readonly perNetwork: number;
  readonly perApp: number;
};

/** `queued`: check-ins that waited in a queue. `awaited`: a caller waits until they are recorded. */
export type CheckKind = 'queued' | 'awaited';

/** Check of a new device that was not recorded, with the limit that rejected it. */
export type UnadmittedCheck = DeviceName & {
  /** Network of the client; undefined if unknown. */
  readonly network: string | undefined;
  readonly bound: 'network' | 'wide network' | 'app';
};

export type RecordedChecks = {
  /** Merged labels of the recorded devices whose check-in carried labels. */
  readonly labels: readonly StoredLabels[];
  readonly unadmitted: readonly UnadmittedCheck[];
  /** Devices whose check-in changed nothing or came late; only for a caller with a name as `writer`. */
  readonly left: readonly LeftDevice[];
};

/**
 * Device whose check-in changed nothing, or came after a later one. `seenAt` is its last-seen time in the
 * ledger, in milliseconds since 1970.
 */
export type LeftDevice = DeviceName & { readonly seenAt: number };

/**
 * Last writer of one part of the devices. `turns` counts the changes of writer: while it stays the same, only
 * that writer has recorded the part under a name.
 */
export type DeviceWriter = {
  /** Number of the part (`devicePart`). */
  readonly part: number;
  /** Name given as `writer`; empty for a caller without a name. */
  readonly writer: string;
  readonly turns: number;
  /** Number of devices of the part that were recorded for waiting callers so far. */
  readonly awaited: number;
};

/** Devices of an app to delete: those first seen after a time that run the version, if one is given. */
export type DevicePurge = {
  readonly app: { readonly id: string; readonly ref: string; readonly organizationId: string };
  /** RFC 3339. */
  readonly firstSeenAfter: string;
  /** Canonical version; undefined for any. */
  readonly version: string | undefined;
};

/** Progress of a purge. */
export type PurgePlace = {
  /** Device id to continue after; undefined at the beginning and at the end. */
  readonly after: string | undefined;
  /** Id of the purge's audit entry; undefined before the first deletion. */
  readonly auditEntryId: string | undefined;
  /** Number of devices deleted so far. */
  readonly devices: number;
};

export type PurgedDevices = {
  readonly purged: readonly string[];
  readonly place: PurgePlace;
};

/** Number of requests of an app that named their device by a mistaken id of one kind. */
export type MistakenIdCount = {
  readonly appId: string;
  readonly kind: MistakenId;
  readonly count: number;
};

export interface FleetLedger {
  /** Reads the ledger's clock, in milliseconds since 1970; all records are ordered by it. */
  readTime(): Promise<number>;

  /**
   * Records queued check-ins and updates the counts in one statement. The newest check-in of a device wins,
   * so batches may be repeated and arrive in any order. A future time, in a check-in or in a row, counts as
   * the ledger's present. A check-in that only moves `lastSeen`, within the hour and by less than the
   * freshness of devices, does not rewrite the row. Check-ins of unknown apps are dropped. Returns the merged
   * labels of the devices whose check-in carried labels. Durable when it resolves.
   */
  recordCheckIns(checkIns: readonly CheckIn[]): Promise<readonly StoredLabels[]>;

  /**
   * Records check-ins for waiting callers, otherwise like `recordCheckIns`. They count as newer than every
   * row, at the ledger's present time; `at` only orders check-ins of one device.
   */
  recordAwaited(checkIns: readonly CheckIn[]): Promise<readonly StoredLabels[]>;

  /** Records check-ins as `recordAwaited` does; an actor sent them on behalf of the devices. */
  recordReport(
    checkIns: readonly CheckIn[],
    actor: Actor,
  ): Promise<Outcome<readonly StoredLabels[], LostRight>>;

  /**
   * Records checks like `recordCheckIns` (`queued`) or `recordAwaited` (`awaited`), but rejects new devices
   * beyond `bounds` in their minute, which is that of the check-in's time, at most an hour ago. New devices
   * are recorded and counted in one transaction, so repeated check-ins count once. Devices for which
   * `isRecorded` is true are not looked up. A caller that caches what it recorded gives its name as `writer`.
   */
  recordChecks(
    checkIns: readonly CheckIn[],
    kind: CheckKind,
    bounds: AdmissionBounds,
    isRecorded?: (device: DeviceName) => boolean,
    writer?: string,
  ): Promise<RecordedChecks>;

  /**
   * Reads the last writer of each of these parts, after waiting for transactions that record them now: what
   * is recorded for waiting callers after the answer has a later time than it.
   */
  readWriters(parts: readonly number[]): Promise<readonly DeviceWriter[]>;

  /**
   * Reads which devices of these parts were recorded for waiting callers, after the number in `since` of each
   * part. Returns undefined when there are more than `limit`. Goes back two hours.
   */
  readAwaited(
    parts: readonly number[],
    since: readonly number[],
    limit: number,
  ): Promise<readonly DeviceName[] | undefined>;

  /**
   * Adds to the counts of mistaken ids. A count begins anew after a week in which it did not rise; counts of
   * unknown apps are dropped.
   */
  recordMistakenIds(counts: readonly MistakenIdCount[]): Promise<void>;

  /** Forgets at most `rowsMax` erasures from before this ISO time; returns how many. */
  forgetErasures(before: string, rowsMax: number): Promise<number>;

  /** Deletes at most `rowsMax` counts of new devices in minutes over an hour ago; returns how many. */
  forgetAdmissions(rowsMax: number): Promise<number>;

  /**
   * Looks at the next 1,000 devices by id, and deletes those of the purge with their versions and their part
   * in the counts. A purge has one audit entry, which holds the number deleted so far.
   */
  purgeDevices(
    purge: DevicePurge,
    place: PurgePlace,
    actor: Actor,
  ): Promise<Outcome<PurgedDevices, LostRight>>;

  /**
   * Erases a device: its row, labels, history, offers and failures. The counts of hours, days and months keep
   * it, those of the present and the health of releases do not. Check-ins from a queue with a time up to
   * `slackMs` from now on count as received before, and do not bring it back.
   */
  eraseDevice(
    scope: TenantScope,
    app: string,
    deviceId: string,
    slackMs: number,
    actor: Actor,
  ): Promise<Outcome<undefined, 'unknownApp' | 'unknownDevice' | LostRight>>;

  /** Counts the devices that `purgeDevices` would delete in one call, and tells how far it looked. */
  countPurgeable(
    purge: DevicePurge,
    after: string | undefined,
  ): Promise<Pick<PurgePlace, 'after' | 'devices'>>;

  /** Reads the labels of these devices, in order; an unknown device has none, at revision 0. */
  readLabels(devices: readonly DeviceName[]): Promise<readonly RecordedLabels[]>;

  /**
   * Reads at most `limit` label changes after a position of the present epoch; undefined reads only the
   * newest position. Positions follow the order of commits: once a reader has seen one, no lower one appears.
   */
  readLabelChanges(after: number | undefined, limit: number): Promise<LabelChanges>;

  /**
   * Samples the devices seen on these channels in the last 30 days: all of up to 20,000, else about 20,000 at
   * random, each device as likely as any other, and the same ones each time. Returns fewer if most devices of
   * the channels were seen longer ago.
   */
  sampleDevices(scope: SampleScope): Promise<DeviceSample>;

  /** Reads a page of the app's devices, by device id. `app` is a ref or an id. */
  listDevices(app: string, filter: DeviceFilter): Promise<Outcome<DevicePage, 'unknownApp'>>;

  /** Counts the app's devices that a filter matches, without its cursor; estimates them in a large fleet. */
  countDevices(app: string, filter: DeviceFilter): Promise<Outcome<DeviceCount, 'unknownApp'>>;

  /** Reads what releases have done with a device: offers, installations and failures, newest first. */
  listDeviceReleases(appId: string, deviceId: string): Promise<readonly DeviceRelease[]>;

  /** Reads one device with its version changes, newest first, up to the number that the ledger keeps. */
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
   * most `rowsMax` of each, and updates the counts. Returns how many of each it deleted.
   */
  sweepFleet(
    devicesBefore: string,
    hoursBefore: string,
    rowsMax: number,
  ): Promise<{ readonly devices: number; readonly hours: number }>;

  /**
   * Deletes at most `rowsMax` version changes beyond the number that the ledger keeps per device, among ten
   * times as many, beginning where the previous call ended. Returns how many it deleted.
   */
  trimHistories(rowsMax: number): Promise<number>;
}

// Rollout plans, and the signals of a release that check-ins carry.

/** Present time of plans, and whether the region that asked is to note its mark now. */
export type PlanTurn = PlanTime & { readonly isMarkWanted: boolean };

/** Mark of a region: how far it has recorded its check-ins. */
export type RegionMark = {
  readonly region: string;
  /** Counted time up to which all of them are recorded. */
  readonly recordedMs: number;
  /** Time of the mark, RFC 3339. */
  readonly notedAt: string;
  /** Whether the region has noted nothing for so long that no plan waits for it any more. */
  readonly isSilent: boolean;
};

/** Plan to create for a release. */
export type NewPlan = ReleaseName & { readonly definition: PlanDefinition };

/** What to do with the newest plan of a release. */
export type PlanSteering = ReleaseName & { readonly action: PlanAction };

/** Open plan with a step or a check of its guards that is due. */
export type PlanToDrive = ReleaseName & { readonly id: string };

/** Plan after it was driven, the changes of its release, and the signals that have just tripped. */
export type DrivenRollout = Changed<RolloutPlan> & { readonly tripped: readonly Signal[] };

/**
 * State of an open plan. `waiting`: for a guard; `late`: due and not begun; `tripped`: held by a guard;
 * `held`: by a person, a pause, or because its guards were blind for too long.
 */
export type OpenPlanState = 'scheduled' | 'running' | 'waiting' | 'late' | 'held' | 'tripped';

/** Failed installation of a release on a device. */
export type ReportedFailure = {
  readonly appId: string;
  /** Channel that the device follows. */
  readonly channel: string;
  readonly deviceId: string;
  /** Version that the device runs; undefined if unknown. */
  readonly runs: string | undefined;
  /** Canonical version that the device could not install. */
  readonly canonicalVersion: string;
  readonly reason: string | undefined;
  /** Address of the client, or the /64 of an IPv6 address; undefined for a report with an API key. */
  readonly network: string | undefined;
};

/** Filter of the devices that show a signal. */
export type SignalDeviceFilter = Omit<DeviceFilter, 'channel'>;

export interface PlanLedger {
  /**
   * Creates a plan for a release that has no open one. A release that was never published is set to 0 % in
   * the same transaction. A dry run goes on to the first raise.
   */
  readonly createPlan: RunChange<NewPlan, RolloutPlan>;

  /** Applies an operator's action to the newest plan of a release. */
  readonly steerPlan: RunChange<PlanSteering, RolloutPlan>;

  /** Reads the newest plan of a release, with the release's health. */
  readPlan(
    scope: TenantScope,
    name: ReleaseName,
  ): Promise<
    Outcome<{ readonly plan: RolloutPlan; readonly health: Health }, UnknownRelease | 'unknownPlan'>
  >;

  /**
   * Reads the health of a release by the guards of its newest plan, or the default guards. `knownForMinutes`
   * replaces the minimum time for which devices must have been on record.
   */
  readHealth(
    scope: TenantScope,
    name: ReleaseName,
    knownForMinutes?: number,
  ): Promise<Outcome<Health, UnknownRelease>>;

  /**
   * Reads the failures of a release: its signals by platform and by previous version, and the reasons of
   * failed installations. Counts the same devices as its health.
   */
  readFailureBreakdown(
    scope: TenantScope,
    name: ReleaseName,
  ): Promise<Outcome<FailureBreakdown, UnknownRelease>>;

  /**
   * Reads the adoption of a release, and of the one before it at the same age; null for one that was never
   * published. Counts devices that were on record for as long before the release as its health requires.
   */
  readReleaseAdoption(
    scope: TenantScope,
    name: ReleaseName,
  ): Promise<Outcome<ReleaseAdoption | null, UnknownRelease>>;

  /**
   * Reads a page of the devices that show a signal of a release, among those that its health counts, in a
   * stable order. A page may have fewer devices than asked for, or none, and still a `next`.
   */
  listSignalDevices(
    scope: TenantScope,
    name: ReleaseName,
    signal: Signal,
    filter: SignalDeviceFilter,
  ): Promise<Outcome<DevicePage, UnknownRelease>>;

  /**
   * Begins a node's turn of driving plans: advances the clock that counts their waits, and returns it.
   * `region` is the node's, undefined if not known or there is none.
   */
  beginPlanTurn(region: string | undefined): Promise<PlanTurn>;

  /** Notes the counted time up to which a region has recorded all its check-ins. */
  noteRegion(region: string, recordedMs: number): Promise<void>;

  /** Reads the marks of the regions of the last day, those that have recorded least first. */
  listRegions(): Promise<readonly RegionMark[]>;

  /**
   * Returns at most `countMax` plans to drive now: plans with a due step first, then plans whose guards were
   * not checked for `checkMs`, longest first. Other callers get none of them for some seconds, unless they
   * are driven before.
   */
  listPlansToDrive(checkMs: number, countMax: number): Promise<readonly PlanToDrive[]>;

  /**
   * Drives a plan and changes its release in one transaction. Concurrent callers wait, and find it done.
   * `recorded` says up to which plan time all check-ins are recorded; undefined if unknown.
   */
  drivePlan(
    plan: PlanToDrive,
    recorded: RecordedUpTo | undefined,
    known?: KnownStates,
  ): Promise<Outcome<DrivenRollout>>;

  /** Counts the open plans by state; a step or start that is due for `lateMs` and has not begun is late. */
  countPlans(lateMs: number): Promise<Readonly<Record<OpenPlanState, number>>>;

  /**
   * Records failed installations, once per device and release. Skips devices that were not on record before
   * the release was published, and versions that neither the channel nor the one it follows has.
   */
  recordFailures(failures: readonly ReportedFailure[]): Promise<void>;

  /** Records the failures of a report with an API key, if the actor may still report. */
  recordReportedFailures(
    failures: readonly ReportedFailure[],
    actor: Actor,
  ): Promise<Failure<LostRight> | undefined>;
}
