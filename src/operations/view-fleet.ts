// The fleet as operators look at it. Counts come from where the drain keeps them, never from a scan of the
// device table.

import { failUntil, isFailure, type Outcome } from '../contract/failure.ts';
import type {
  AdoptionPoint,
  DeviceFilter,
  DevicePage,
  DeviceRecord,
  VersionChange,
} from '../ports/fleet-ledger.ts';
import type { Ledger } from '../ports/ledger.ts';
import type { LiveEvent, LiveFeed } from './live-feed.ts';

const ADOPTION_DEFAULT_MS = 7 * 86_400_000;
const WATCH_RETRY_MS = 5000;

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

  /** Devices by channel, version and platform now. 404 unknown app. */
  async readFleet(app: string): Promise<Outcome<unknown>> {
    const cells = await this.ledger.readFleet(app);
    return isFailure(cells) ? cells : { cells };
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
