// A check-in: what the ledger records of one update check, or of one device in a fleet report. Check-ins of
// one device merge: the newest wins, but an unknown version never replaces a known one.

import type { DeviceClient } from '../../contract/resource.ts';
import type { Labels } from '../decision/targeting.ts';
import { mergeLabels } from './labels.ts';

/** The device's own request (pull), or a report by an orchestrator (push). */
export type CheckInSource = 'pull' | 'push';

export type CheckIn = {
  readonly appId: string;
  readonly deviceId: string;
  readonly channel: string;
  /** Canonical version; undefined if the request carries none (an update file). */
  readonly version: string | undefined;
  /** Folded. */
  readonly platform: string;
  /** Folded; '' if the device did not report it. */
  readonly arch: string;
  readonly source: CheckInSource;
  /** Client that the device uses; undefined if unknown, which never replaces a known one. */
  readonly client?: DeviceClient | undefined;
  /** Kind that the device was installed from; undefined if not reported. Replaced together with `client`. */
  readonly bundle?: string | undefined;
  /** Time in milliseconds since 1970 by the ledger's clock, as far as the node knows that clock. */
  readonly at: number;
  /** Labels to merge over the stored ones, key by key; undefined or empty changes none. */
  readonly labels: Labels | undefined;
  /**
   * Send times by key of those labels that an earlier, merged check-in carried. A report between the two
   * check-ins is newer than these labels.
   */
  readonly labelTimes?: ReadonlyMap<string, number> | undefined;
  /** Id of the release that the answer offered; undefined if none. */
  readonly offeredReleaseId: string | undefined;
  /** Network of the device (`readNetwork`); undefined if unknown, or in an orchestrator's report. */
  readonly network?: string | undefined;
};

/** Returns a map key for a device, which (app, deviceId) identifies. */
export function deviceKey(checkIn: Pick<CheckIn, 'appId' | 'deviceId'>): string {
  return `${checkIn.appId}/${checkIn.deviceId}`;
}

/**
 * Merges two check-ins of a device: takes the later one's values, or the earlier one's where the later one
 * has none. If their times are equal, the second argument is the later one.
 */
export function mergeCheckIns(left: CheckIn, right: CheckIn): CheckIn {
  const [earlier, later] = right.at >= left.at ? [left, right] : [right, left];
  return {
    ...later,
    version: later.version ?? earlier.version,
    client: later.client ?? earlier.client,
    bundle: later.client === undefined ? earlier.bundle : later.bundle,
    ...mergeWrites(earlier, later),
    offeredReleaseId: later.offeredReleaseId ?? earlier.offeredReleaseId,
    network: later.network ?? earlier.network,
  };
}

/**
 * Merges check-ins so that each device occurs once. Merges them by time, and those of the same time in the
 * given order, because batches of several nodes arrive in any order.
 */
export function coalesceCheckIns(checkIns: Iterable<CheckIn>): CheckIn[] {
  const byDevice = new Map<string, CheckIn>();
  for (const checkIn of [...checkIns].sort((left, right) => left.at - right.at)) {
    const key = deviceKey(checkIn);
    const known = byDevice.get(key);
    byDevice.set(key, known === undefined ? checkIn : mergeCheckIns(known, checkIn));
  }
  return [...byDevice.values()];
}

/** Returns the labels of both check-ins, the later one's where both have a key, with their send times. */
function mergeWrites(earlier: CheckIn, later: CheckIn): Pick<CheckIn, 'labels' | 'labelTimes'> {
  if (earlier.labels === undefined || earlier.labels.size === 0) {
    return { labels: later.labels, labelTimes: later.labelTimes };
  }
  const newer: Labels = later.labels ?? new Map();
  const labels = mergeLabels(earlier.labels, newer);
  const labelTimes = new Map<string, number>();
  for (const key of labels.keys()) {
    const { at, labelTimes: times } = newer.has(key) ? later : earlier;
    const sentAt = times?.get(key) ?? at;
    if (sentAt < later.at) labelTimes.set(key, sentAt);
  }
  return { labels, labelTimes: labelTimes.size === 0 ? undefined : labelTimes };
}
