// Devices of a played fleet, each with what a real one remembers. Decides when a device asks next and what it
// runs then, and does no I/O. All times are virtual milliseconds.

import { type BackOff, backOffMs } from '../../../src/flow/pause.ts';
import type { DeviceDay } from './device-hours.ts';

const MINUTE_MS = 60_000;
/** Time between two checks of a device, which varies by a tenth in both directions. */
export const INTERVAL_MS = 5 * MINUTE_MS;
const JITTER = 0.1;
/** Delays after failures; a device waits between half of one and all of it. */
const RETRY: BackOff = { minMs: 10_000, maxMs: 30 * MINUTE_MS };
/** Times from an offer until the release runs: some restart at once, some at the end of the day. */
const INSTALL_MS = [MINUTE_MS, 8 * 60 * MINUTE_MS] as const;
const NEWEST_SHARE = 0.7;
/** Share of the rest that each version has of those that are left, from the second newest on. */
const STEP_SHARE = 0.15;

/** Place of the version that a device runs, 0 for the newest of `count`: most run it, few old ones. */
export function versionMix(random: number, count: number): number {
  if (random < NEWEST_SHARE || count < 2) return 0;
  const rest = (random - NEWEST_SHARE) / (1 - NEWEST_SHARE);
  const place = 1 + Math.floor(Math.log(1 - rest) / Math.log(1 - STEP_SHARE));
  return Math.min(place, count - 1);
}

type Device = {
  version: string;
  /** Version that is being installed, and the time when it runs; infinite when there is none. */
  offered: string;
  installedAt: number;
  failures: number;
  readonly shiftHours: number;
};

export class DeviceFleet {
  private readonly devices: readonly Device[];
  private readonly day: DeviceDay;
  private readonly random: () => number;

  constructor(size: number, day: DeviceDay, random: () => number, versions: readonly string[]) {
    this.day = day;
    this.random = random;
    this.devices = Array.from({ length: size }, () => ({
      version: versions[versionMix(random(), versions.length)] ?? '',
      ...{ offered: '', installedAt: Number.POSITIVE_INFINITY, failures: 0 },
      shiftHours: day.drawShift(random),
    }));
  }

  firstAsk(index: number): number {
    return this.day.nextAwake(this.random() * INTERVAL_MS, this.at(index).shiftHours);
  }

  /** Returns the version that a device runs by now, having installed what was due. */
  versionAt(index: number, now: number): string {
    const device = this.at(index);
    if (device.installedAt <= now) {
      device.version = device.offered;
      device.installedAt = Number.POSITIVE_INFINITY;
    }
    return device.version;
  }

  /** Takes an answer and returns when the device asks next. What was offered before goes on installing. */
  answer(index: number, now: number, offer?: string): number {
    const device = this.at(index);
    device.failures = 0;
    if (offer !== undefined) {
      device.offered = offer;
      // Any factor between the two ends is as likely as another.
      const [shortest, longest] = INSTALL_MS;
      const ms = () => shortest * (longest / shortest) ** this.random();
      if (!Number.isFinite(device.installedAt)) device.installedAt = now + ms();
    }
    const next = now + INTERVAL_MS * (1 + JITTER * (2 * this.random() - 1));
    return this.day.nextAwake(next, device.shiftHours);
  }

  /** Takes a failure, or an answer to come again later, and returns when the device tries again. */
  fail(index: number, now: number): number {
    const device = this.at(index);
    device.failures += 1;
    const waitMs = backOffMs(RETRY, device.failures) * (0.5 + this.random() / 2);
    return this.day.nextAwake(now + waitMs, device.shiftHours);
  }

  isRetrying(index: number): boolean {
    return this.at(index).failures > 0;
  }

  awakeShare(now: number): number {
    const { devices, day } = this;
    return (
      devices.filter((each) => day.nextAwake(now, each.shiftHours) === now).length / devices.length
    );
  }

  shareOn(version: string, now: number): number {
    const on = this.devices.filter((_, index) => this.versionAt(index, now) === version);
    return on.length / this.devices.length;
  }

  private at(index: number): Device {
    return this.devices[index] as Device;
  }
}
