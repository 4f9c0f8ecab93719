// Views of the fleet for the console. Counts come from the counters that the drain maintains, never from a
// scan of the device table.

import type {
  AdoptionPoint,
  AdoptionStepPoint,
  DeviceDetail,
  DevicePage,
  FleetNow,
  LiveEvents,
} from '../contract/console-fleet.ts';
import { invalidField, isFailure, type Outcome, type UnknownRelease } from '../contract/failure.ts';
import { isoTime } from '../contract/iso-time.ts';
import type { AdoptionStep } from '../contract/resource.ts';
import type { Signal } from '../contract/rollout-plan.ts';
import type { DeviceFilter } from '../store/fleet-ledger.ts';
import type { Ledger } from '../store/ledger.ts';
import type { SignalDeviceFilter } from '../store/plan-ledger.ts';
import type { Reach } from '../store/reach.ts';
import type { ReleaseName } from '../store/release-name.ts';
import type { ActivityBroadcast } from './live-activity.ts';
import { LivePlaces, type LiveViewer } from './live-places.ts';

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
/**
 * Milliseconds within which a device counts as seen now; longer than its recorded `lastSeen` may lag behind.
 */
const NOW_MS = 15 * 60_000;
const ADOPTION_DEFAULT_MS = WEEK_MS;
const HOURLY_MAX_MS = 31 * DAY_MS;

/** Takes live events; `end` is the last one. */
type LiveSink = {
  send(event: 'check-ins', data: LiveEvents['check-ins']): void;
  end(event: 'end', data: LiveEvents['end']): void;
};

/** Starts sending live events and returns the function that ends it. */
export type LiveSource = (sink: LiveSink) => () => void;

export class ViewFleet {
  private readonly ledger: Ledger;
  private readonly live: ActivityBroadcast;
  private readonly places = new LivePlaces();

  constructor(ledger: Ledger, live: ActivityBroadcast) {
    this.ledger = ledger;
    this.live = live;
  }

  /** Returns a page of the app's devices. */
  listDevices(app: string, filter: DeviceFilter): Promise<Outcome<DevicePage, 'unknownApp'>> {
    return this.ledger.listDevices(app, filter);
  }

  /** Returns a page of the devices that show a signal of a release. */
  listSignalDevices(
    reach: Reach,
    name: ReleaseName,
    signal: Signal,
    filter: SignalDeviceFilter,
  ): Promise<Outcome<DevicePage, UnknownRelease>> {
    return this.ledger.listSignalDevices(reach, name, signal, filter);
  }

  /** Returns a device with its version changes. */
  readDevice(
    app: string,
    deviceId: string,
  ): Promise<Outcome<DeviceDetail, 'unknownApp' | 'unknownDevice'>> {
    return this.ledger.readDevice(app, deviceId);
  }

  /**
   * Devices by channel, version and platform now, and how many were seen in the last quarter of an hour,
   * day and week; those are estimates where there are many. `channel` leaves out all other channels.
   */
  async readFleet(
    appId: string,
    channel: string | undefined,
    nowMs: number,
  ): Promise<Outcome<FleetNow, 'unknownApp'>> {
    const cells = await this.ledger.readFleet(appId);
    if (isFailure(cells)) return cells;
    const since = [NOW_MS, DAY_MS, WEEK_MS].map((ms) => isoTime(nowMs - ms));
    const { total, seen, isEstimate } = await this.ledger.countSeen(appId, channel, since);
    const [now = 0, day = 0, week = 0] = seen;
    const shown = channel === undefined ? cells : cells.filter((cell) => cell.channel === channel);
    return { cells: shown, total, now, day, week, isEstimate };
  }

  /** Reads the adoption series in steps, oldest first; from `since` on, default a week ago. */
  async readAdoptionSteps(
    appId: string,
    wanted: {
      readonly since: string | undefined;
      readonly step: AdoptionStep;
      readonly channel: string | undefined;
    },
    nowMs: number,
  ): Promise<Outcome<{ readonly points: readonly AdoptionStepPoint[] }, 'invalid'>> {
    const since = wanted.since ?? isoTime(nowMs - ADOPTION_DEFAULT_MS);
    if (wanted.step === 'hour' && Date.parse(since) < nowMs - HOURLY_MAX_MS) {
      return invalidField('since', 'Must be at most 31 days ago for hours');
    }
    return { points: await this.ledger.readAdoptionSteps(appId, { ...wanted, since }) };
  }

  /** Returns hourly counts from `since` (RFC 3339, default a week ago) on. */
  async readAdoption(
    app: string,
    since: string | undefined,
    nowMs: number,
  ): Promise<Outcome<{ readonly points: readonly AdoptionPoint[] }, 'unknownApp'>> {
    const from = since ?? isoTime(nowMs - ADOPTION_DEFAULT_MS);
    const points = await this.ledger.readAdoption(app, from);
    return isFailure(points) ? points : { points };
  }

  /** Returns the live events of an app's check-ins; a refusal when too many watch. */
  watch(appId: string, viewer: LiveViewer): Outcome<LiveSource, 'tooManyFeeds' | 'unavailable'> {
    const refusal = this.places.refusal(viewer);
    if (refusal !== undefined) return refusal;
    return (sink) => {
      // Taken only now, because a client that left meanwhile would never give its place back. Of several
      // that asked at once, some may come too late.
      const leave = this.places.take(viewer);
      if (leave === undefined) {
        sink.end('end', { reason: 'too-many' });
        return () => undefined;
      }
      const stop = this.live.watch(appId, (activity) => sink.send('check-ins', activity));
      return () => {
        stop();
        leave();
      };
    };
  }
}
