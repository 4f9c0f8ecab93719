// A check-in: what the ledger records of one update check, or of one device in a fleet report. Check-ins of
// the same device merge: the newest wins, but an unknown version never replaces a known one.

import type { DeviceClient } from '../../contract/device-client.ts';
import type { Labels } from '../decision/targeting.ts';
import { mergeLabels } from './merge-labels.ts';

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
    labels: mergeUpdates(earlier.labels, later.labels),
    offeredReleaseId: later.offeredReleaseId ?? earlier.offeredReleaseId,
    network: later.network ?? earlier.network,
  };
}

/**
 * Merges check-ins so that each device occurs once. They are merged in the order of their times, those of the
 * same time in the given one: batches of several nodes come in any order, and labels that were merged with a
 * later check-in would else count as later than those that came in between.
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

function mergeUpdates(earlier: Labels | undefined, later: Labels | undefined): Labels | undefined {
  if (earlier === undefined || later === undefined) return later ?? earlier;
  return mergeLabels(earlier, later);
}
