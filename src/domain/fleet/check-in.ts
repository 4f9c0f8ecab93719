// A check-in: what the ledger records of one update check, or of one device in a fleet report. Check-ins of
// the same device merge: the newest wins, but an unknown version never replaces a known one.

import type { DeviceClient } from '../../contract/device-client.ts';
import type { Labels } from '../decision/targeting.ts';
import { mergeLabels } from './labels.ts';

/** Source of a check-in: the device's own request (pull), or a report by an orchestrator (push). */
export type CheckInSource = 'pull' | 'push';

export type CheckIn = {
  readonly appId: string;
  readonly deviceId: string;
  readonly channel: string;
  /**
   * Canonical version; undefined when the request does not carry one (an update file), which never replaces a
   * known one.
   */
  readonly version: string | undefined;
  /** Platform after alias folding. */
  readonly platform: string;
  /** Arch after alias folding; empty when the device did not tell. */
  readonly arch: string;
  readonly source: CheckInSource;
  /** Way in which the device asked; undefined when it is not known, which never replaces a known one. */
  readonly client?: DeviceClient | undefined;
  /** Kind that the device was installed from; undefined when it did not tell one. Counts with `client`. */
  readonly bundle?: string | undefined;
  /**
   * Time of the check-in in milliseconds since 1970, as the ledger's clock would show it as far as the node
   * knows that clock.
   */
  readonly at: number;
  /** Labels to merge over the stored ones, key by key; undefined or empty changes none. */
  readonly labels: Labels | undefined;
  /**
   * Times of those labels that were sent before `at`, by key: with an earlier check-in that was merged with a
   * later one. A report that came between the two is newer than they are.
   */
  readonly labelTimes?: ReadonlyMap<string, number> | undefined;
  /** Id of the release that the answer offered; undefined when it offered none. */
  readonly offeredReleaseId: string | undefined;
  /**
   * Network that the device asked from (`readNetwork`); undefined when it is not known, or when an
   * orchestrator reports the device.
   */
  readonly network?: string | undefined;
};

/** Map key for a device, which is identified by the pair (app, deviceId). */
export function deviceKey(checkIn: Pick<CheckIn, 'appId' | 'deviceId'>): string {
  return `${checkIn.appId}/${checkIn.deviceId}`;
}

/**
 * Merges two check-ins of a device into one with the effect of both: the later one's facts, and the earlier
 * one's where the later one has none. When both have the same time, the second argument counts as the later
 * one.
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
 * Merges check-ins so that each device occurs once. They are merged in the order of their times, those of the
 * same time in the given one, because batches of several nodes come in any order.
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

/** Returns the labels of both, of each key the later one's, with the times at which they were sent. */
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
