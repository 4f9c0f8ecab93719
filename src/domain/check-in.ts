// A check-in: what the fleet's record learns from one update check, or from one device of a report. Check-ins
// of the same device merge; the newest wins, and a known version is not forgotten for an unknown one.

import { mergeLabels } from './merge-labels.ts';
import type { Labels } from './targeting.ts';

/** How the service heard of the device: it asked itself, or an orchestrator spoke for it. */
export type CheckInSource = 'pull' | 'push';

export type CheckIn = {
  readonly appId: string;
  readonly deviceId: string;
  readonly channel: string;
  /** Canonical; undefined when the request does not tell (a feed), which never replaces a known one. */
  readonly version: string | undefined;
  /** Folded. */
  readonly platform: string;
  /** Folded; empty when not told. */
  readonly arch: string;
  readonly source: CheckInSource;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** To be merged over the stored ones, key by key; undefined or empty changes none. */
  readonly labels: Labels | undefined;
  /** The release this answer offered; undefined when it offered none. */
  readonly offeredReleaseId: string | undefined;
};

/** The device a check-in is about, as one text: devices are identified by the pair (app, deviceId). */
export function deviceKey(checkIn: Pick<CheckIn, 'appId' | 'deviceId'>): string {
  return `${checkIn.appId}/${checkIn.deviceId}`;
}

/**
 * One check-in that has the effect of both, in either order: the later one's facts, the earlier one's
 * where the later knows nothing. On a tie the second argument is the later.
 */
export function mergeCheckIns(left: CheckIn, right: CheckIn): CheckIn {
  const [earlier, later] = right.at >= left.at ? [left, right] : [right, left];
  return {
    ...later,
    version: later.version ?? earlier.version,
    labels: mergeUpdates(earlier.labels, later.labels),
    offeredReleaseId: later.offeredReleaseId ?? earlier.offeredReleaseId,
  };
}

/** Check-ins with each device in them once. */
export function coalesceCheckIns(checkIns: Iterable<CheckIn>): CheckIn[] {
  const byDevice = new Map<string, CheckIn>();
  for (const checkIn of checkIns) {
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
