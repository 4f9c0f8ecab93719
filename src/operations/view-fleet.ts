// The fleet as operators look at it. Counts come from where the drain keeps them, never from a scan of the
// device table.

import { failUntil, invalidField, isFailure, type Outcome } from '../contract/failure.ts';
import type { AdoptionStep } from '../contract/resource.ts';
import type { AdoptionStepPoint } from '../ports/console-ledger.ts';
import type {
  AdoptionPoint,
  DeviceFilter,
  DevicePage,
  DeviceRecord,
  VersionChange,
} from '../ports/fleet-ledger.ts';
import type { Ledger } from '../ports/ledger.ts';
import type { LiveEvent, LiveFeed } from './live-feed.ts';

const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;
/** Longer than `lastSeen` may be behind. */
const NOW_MS = 15 * 60_000;
const ADOPTION_DEFAULT_MS = WEEK_MS;
const HOURLY_MAX_MS = 31 * DAY_MS;
const WATCH_RETRY_MS = 5000;

export type FleetView = {
  readonly cells: readonly Omit<AdoptionPoint, 'hour'>[];
  readonly total: number;
  readonly now: number;
  readonly day: number;
  readonly week: number;
  /** Whether those three are estimates. */
  readonly isEstimate: boolean;
};

/** Sends live events until the function it returns is called. */
export type LiveSource = (sink: (event: string, data: LiveEvent) => void) => () => void;

export class ViewFleet {
  private readonly ledger: Ledger;
  private readonly live: LiveFeed;

  constructor(ledger: Ledger, live: LiveFeed) {
    this.ledger = ledger;
    this.live = live;
  }

  /** 404 unknown app. */
  listDevices(app: string, filter: DeviceFilter): Promise<Outcome<DevicePage>> {
    return this.ledger.listDevices(app, filter);
  }

  /** 404 unknown app or device. */
  readDevice(
    app: string,
    deviceId: string,
  ): Promise<Outcome<DeviceRecord & { readonly history: readonly VersionChange[] }>> {
    return this.ledger.readDevice(app, deviceId);
  }

  /**
   * Devices by channel, version and platform now, and how many were seen in the last quarter of an hour,
   * day and week; those are estimates where there are many. 404 unknown app.
   */
  async readFleet(appId: string, nowMs: number): Promise<Outcome<FleetView>> {
    const cells = await this.ledger.readFleet(appId);
    if (isFailure(cells)) return cells;
    const since = [NOW_MS, DAY_MS, WEEK_MS].map((ms) => new Date(nowMs - ms).toISOString());
    const { total, seen, isEstimate } = await this.ledger.countSeen(appId, undefined, since);
    const [now = 0, day = 0, week = 0] = seen;
    return { cells, total, now, day, week, isEstimate };
  }

  /** The same series in steps, oldest first; from `since` on, default a week ago. */
  async readAdoptionSteps(
    appId: string,
    wanted: {
      readonly since: string | undefined;
      readonly step: AdoptionStep;
      readonly channel: string | undefined;
    },
    nowMs: number,
  ): Promise<Outcome<{ readonly points: readonly AdoptionStepPoint[] }>> {
    const since = wanted.since ?? new Date(nowMs - ADOPTION_DEFAULT_MS).toISOString();
    if (wanted.step === 'hour' && Date.parse(since) < nowMs - HOURLY_MAX_MS) {
      return invalidField('since', 'Must be at most 31 days ago for hours');
    }
    return { points: await this.ledger.readAdoptionSteps(appId, { ...wanted, since }) };
  }

  /** Hourly counts from `since` (RFC 3339, default a week ago) on. 404 unknown app. */
  async readAdoption(
    app: string,
    since: string | undefined,
    nowMs: number,
  ): Promise<Outcome<{ readonly points: readonly AdoptionPoint[] }>> {
    const from = since ?? new Date(nowMs - ADOPTION_DEFAULT_MS).toISOString();
    const points = await this.ledger.readAdoption(app, from);
    return isFailure(points) ? points : { points };
  }

  /** Live events of an app's check-ins. 404 unknown app, 503 when too many watch. */
  async watch(app: string): Promise<Outcome<LiveSource>> {
    const found = await this.ledger.findAnyApp(app);
    if (isFailure(found)) return found;
    if (!this.live.hasRoom()) return failUntil('unavailable', WATCH_RETRY_MS);
    return (sink) => this.live.watch(found.id, (event) => sink('check-ins', event));
  }
}
