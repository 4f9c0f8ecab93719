// The part of the ledger that records the fleet: devices, their labels, what they ran and how that adds up.
// Same obligations as the rest of the ledger.

import type { Outcome } from '../contract/failure.ts';
import type { CheckIn, CheckInSource } from '../domain/check-in.ts';
import type { DeviceLabels, DeviceName } from './label-cache.ts';

/** A device as the record has it. Times are RFC 3339 UTC with milliseconds. */
export type DeviceRecord = {
  readonly deviceId: string;
  readonly version: string | null;
  readonly platform: string;
  readonly arch: string | null;
  readonly channel: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly source: CheckInSource;
  readonly firstSeen: string;
  readonly lastSeen: string;
  /** The version of the release last offered to it, and when; null when none was. */
  readonly lastOffered: { readonly version: string; readonly at: string } | null;
};

export type DeviceFilter = {
  readonly version?: string | undefined;
  readonly channel?: string | undefined;
  readonly platform?: string | undefined;
  /** The device has this label with this value. */
  readonly label?: { readonly key: string; readonly value: string } | undefined;
  /** Seen at or after, RFC 3339. */
  readonly seenSince?: string | undefined;
  /** The device id after which the page begins; undefined for the first page. */
  readonly after?: string | undefined;
  readonly limit: number;
};

export type DevicePage = {
  readonly devices: readonly DeviceRecord[];
  /**
   * What to pass as `after` for the next page; null when this is the last. A page that looks for few among
   * many may have fewer devices than asked for, or none, and still a next.
   */
  readonly next: string | null;
};

export type VersionChange = {
  readonly at: string;
  readonly from: string | null;
  readonly to: string;
};

/**
 * One point of the adoption series: devices seen in that hour, each counted once, where it last was. A
 * check-in that arrives after a later one of its device counts in no hour of its own.
 */
export type AdoptionPoint = {
  /** Begin of the hour, RFC 3339 UTC. */
  readonly hour: string;
  readonly channel: string;
  readonly version: string;
  readonly platform: string;
  readonly devices: number;
};

export interface FleetLedger {
  /**
   * Records check-ins of distinct devices in one statement: newest wins, idempotent when repeated, and in
   * any order. A row whose only news is a `lastSeen` less than five minutes later, in the same hour, is not
   * rewritten. The counts follow in
   * the same transaction. Check-ins of unknown apps are dropped. Answers the labels, after merging, of
   * the devices whose check-in carried labels. Durable when it resolves.
   */
  recordCheckIns(checkIns: readonly CheckIn[]): Promise<readonly DeviceLabels[]>;

  /** The labels of these devices in the order asked; of an unknown device none, at revision 0. */
  readLabels(devices: readonly DeviceName[]): Promise<readonly DeviceLabels[]>;

  /** By device id. `app` is a ref or an id. 404 unknown app. */
  listDevices(app: string, filter: DeviceFilter): Promise<Outcome<DevicePage>>;

  /** One device with its version changes, newest first (at most 100). 404 unknown app or device. */
  readDevice(
    app: string,
    deviceId: string,
  ): Promise<Outcome<DeviceRecord & { readonly history: readonly VersionChange[] }>>;

  /** How many devices of the app are where now, read from the maintained counts. 404 unknown app. */
  readFleet(app: string): Promise<Outcome<readonly Omit<AdoptionPoint, 'hour'>[]>>;

  /** The hourly series from `since` (RFC 3339) on, oldest first. 404 unknown app. */
  readAdoption(app: string, since: string): Promise<Outcome<readonly AdoptionPoint[]>>;

  /**
   * Forgets devices silent since before `devicesBefore` and hours before `hoursBefore` (RFC 3339), at most
   * `rowsMax` of each; how many of each went. The counts follow.
   */
  sweepFleet(
    devicesBefore: string,
    hoursBefore: string,
    rowsMax: number,
  ): Promise<{ readonly devices: number; readonly hours: number }>;
}
