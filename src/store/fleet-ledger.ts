// Terms of the ledger's calls that record the fleet and drive rollout plans: devices, their labels, versions
// and counts, and plans with their signals.

import type { DeviceRecord } from '../contract/console-fleet.ts';
import type { MistakenId } from '../contract/ref.ts';
import type { PlanAction, RolloutPlan, Signal } from '../contract/rollout-plan.ts';
import type { Labels } from '../domain/decision/targeting.ts';
import type { PlanDefinition, PlanTime } from '../domain/rollout/plan-state.ts';
import type { StoredActions } from './action-store.ts';
import type { ChangePosition, DeviceName, StoredLabels } from './label-store.ts';
import type { Changed, OwnedApp, ReleaseName } from './ledger-terms.ts';

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
  /** Text that the device id begins with; if no id of the app does, text that it contains, ignoring case. */
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

/** Changes after a position, oldest first. */
type Changes<Entry> = Pick<ChangePosition, 'epoch'> & {
  /** Position of the newest change in the ledger; 0 when there is none. */
  readonly newest: number;
  /** Devices with what is on record of them now, each with the position of its latest change. */
  readonly changed: readonly (Entry & Pick<ChangePosition, 'position'>)[];
};

export type LabelChanges = Changes<StoredLabels> & {
  /**
   * Time by `performance.now` by which an edge had uploaded what is recorded, and among the changes up to the
   * newest one. Undefined if it is not known, and in a node, which keeps notes until their check-ins settle
   * them.
   */
  readonly recordedUntil?: number | undefined;
};
export type ActionChanges = Changes<StoredActions>;

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
  /** Devices whose check-in changed nothing or came late; empty for a caller without a name (`writer`). */
  readonly left: readonly LeftDevice[];
};

/**
 * Device whose check-in changed nothing, or came after a later one. `seenAt` is its last-seen time in the
 * ledger, in milliseconds since 1970.
 */
export type LeftDevice = DeviceName & { readonly seenAt: number };

/**
 * Last writer of one part of the devices. `turns` counts the changes of writer: while it stays the same, that
 * writer alone has recorded devices of the part under a name.
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
  readonly app: OwnedApp;
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

/** Number of times that requests of an app named a device by a mistaken id of one kind. */
export type MistakenIdCount = {
  readonly appId: string;
  readonly kind: MistakenId;
  readonly count: number;
};

// Rollout plans, and the signals of a release that check-ins carry.

/** Present time of plans, and whether the region that asked must record its mark now. */
export type PlanTurn = PlanTime & { readonly isMarkWanted: boolean };

/** Mark of a region: how far it has recorded its check-ins. */
export type RegionMark = {
  readonly region: string;
  /** Counted time (`PlanTime`) up to which all its check-ins are recorded. */
  readonly recordedMs: number;
  /** Time of the mark, RFC 3339. */
  readonly notedAt: string;
  /** Whether the region has recorded no mark for so long that plans no longer wait for it. */
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
