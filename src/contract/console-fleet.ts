// Answers of the console API about the devices of an app: single devices and counts.

import type { Answer } from './answer-shape.ts';
import type { ShownReason, Verdict } from './explanation.ts';
import type { ReleaseStatus, UpdateManifest } from './resource.ts';

/** A device as recorded. Times are RFC 3339 UTC with milliseconds. */
export type DeviceRecord = Answer<'Device'>;

export type PurgedDevices = {
  /** Number of devices that were deleted, or would be. */
  readonly devices: number;
  /** Device id after which the next call continues; null at the end. */
  readonly next: string | null;
};

export type DevicePage = {
  readonly devices: readonly DeviceRecord[];
  /** Device id to pass as `after` for the next page, which even an empty page may have; null at the end. */
  readonly next: string | null;
};

/** Number of devices that a filter matches; null if that is not known. */
export type DeviceCount = { readonly devices: number | null; readonly isEstimate: boolean };

/** How far a device got with a release; times are RFC 3339, null for what has not happened. */
export type DeviceRelease = {
  readonly version: string;
  readonly channel: string;
  readonly status: ReleaseStatus;
  readonly offeredAt: string | null;
  readonly installedAt: string | null;
  readonly revertedAt: string | null;
  readonly failedAt: string | null;
  /** Reason of the failure as the device sent it; null if it sent none. */
  readonly failedReason: string | null;
};

/** Action of a device that speaks DDI, or null, and the releases that it does not get again. */
export type ShownActions = Pick<Answer<'DeviceAnswer'>['device'], 'action' | 'barred'>;

/** A device as its page shows it. */
export type ShownDevice = DeviceDetail &
  ShownActions & { readonly releases: readonly DeviceRelease[] };

/** What one of several devices would be offered now; `device` is null if it is not on record. */
export type BriefDecision = {
  readonly deviceId: string;
  readonly device: Pick<DeviceRecord, 'version' | 'channel' | 'platform' | 'arch'> | null;
  readonly offer: string | null;
  readonly reason: ShownReason | null;
  /** Sentence on why the device does not get a release above the offered one; null if there is none. */
  readonly why: string | null;
};

export type DeviceDetail = DeviceRecord & { readonly history: readonly VersionChange[] };

export type VersionChange = {
  readonly at: string;
  readonly from: string | null;
  readonly to: string;
};

/** The decision that an update check of the device would get now, with its reasons. */
export type ExplainedDecision = {
  readonly device: DeviceRecord;
  readonly offer: UpdateManifest | null;
  readonly reason: ShownReason;
  /** Releases that were considered, in order; if there are more than 50, the first ones and the last. */
  readonly candidates: readonly ExplainedCandidate[];
  readonly considered: number;
  readonly current: { readonly version: string | null; readonly status: ReleaseStatus | null };
};

export type ExplainedCandidate = {
  readonly version: string;
  readonly verdict: Verdict;
  /** A sentence for people. */
  readonly detail: string;
  /** Bucket of the device in this release's rollout, 0 to 9,999; absent without a device id. */
  readonly bucket: number | undefined;
  /** Buckets below this one are in the rollout. */
  readonly threshold: number;
};

export type FleetNow = {
  readonly cells: readonly FleetCell[];
  readonly total: number;
  /** Devices seen in the last 15 minutes. */
  readonly now: number;
  /** Devices seen in the last day. */
  readonly day: number;
  /** Devices seen in the last week. */
  readonly week: number;
  /** Whether `now`, `day` and `week` are estimates. */
  readonly isEstimate: boolean;
};

/** Number of devices that run one version on one channel and platform. */
export type FleetCell = {
  readonly channel: string;
  /** Empty for devices whose version is unknown. */
  readonly version: string;
  readonly platform: string;
  readonly devices: number;
};

/** The adoption series, oldest first: in the requested steps, by default hourly. */
export type Adoption = { readonly points: readonly AdoptionStepPoint[] | readonly AdoptionPoint[] };

/**
 * One point of the hourly series: devices seen in that hour, each counted once, at its last state. A check-in
 * that arrives after a newer one of the same device is not counted.
 */
export type AdoptionPoint = FleetCell & {
  /** Start of the hour, RFC 3339 UTC. */
  readonly hour: string;
};

/** Devices seen in an hour, a day or a month, each counted once, at its last state in it. */
export type AdoptionStepPoint = {
  /** Start of the step, RFC 3339 UTC. */
  readonly at: string;
  /** One of the 20 versions with the most devices; null for all others together, empty if unknown. */
  readonly version: string | null;
  readonly devices: number;
  /** Whether the step predates daily and monthly counts: `devices` is then that of its largest hour. */
  readonly isMinimum: boolean;
};

/** Events of the live feed by name. `end` is the last event of a feed. */
export type LiveEvents = {
  readonly 'check-ins': LiveActivity;
  readonly end: { readonly reason: LiveEndReason };
};

/** Why a live feed ends: the session or the right to see the app is gone, or too many are open. */
export type LiveEndReason = 'signed-out' | 'no-access' | 'too-many';

/** One second of an app's check-ins: their number, and a bounded sample of them. */
export type LiveActivity = {
  readonly count: number;
  readonly samples: readonly ActivitySample[];
};

export type ActivitySample = {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly deviceId: string;
  readonly channel: string;
  readonly version?: string | undefined;
  readonly platform: string;
  readonly source: 'pull' | 'push';
  readonly isOffered: boolean;
};
