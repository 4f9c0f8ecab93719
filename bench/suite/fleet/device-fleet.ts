// Devices of a played fleet, each with what a real one remembers: the version it runs, the release it was
// offered and when it will have installed it, how often it failed in a row, and when it sleeps. It decides
// when a device asks next, and does no I/O. All times are virtual milliseconds.

import { type BackOff, backOffMs } from '../../../src/flow/back-off.ts';
import type { DeviceDay } from './device-day.ts';

const MINUTE_MS = 60_000;
/** Time between two checks of a device, which varies by a tenth in both directions. */
export const INTERVAL_MS = 5 * MINUTE_MS;
const JITTER = 0.1;
/** Delays after failures; a device waits between half of one and all of it. */
const RETRY: BackOff = { minMs: 10_000, maxMs: 30 * MINUTE_MS };
/** Times from an offer until the release runs: some restart at once, some at the end of the day. */
const INSTALL_MS = [MINUTE_MS, 8 * 60 * MINUTE_MS] as const;

export type FleetOptions = {
  readonly devices: number;
  readonly day: DeviceDay;
  readonly random: () => number;
  /** Draws the version that a device runs at first. */
  drawVersion(): string;
};

export class DeviceFleet {
  readonly size: number;
  private readonly day: DeviceDay;
  private readonly random: () => number;
  /** Versions that were seen, by the numbers that the devices have for them. */
  private readonly versions: string[] = [];
  private readonly running: Uint16Array;
  private readonly offered: Uint16Array;
  /** Time when the offered version runs; infinite while nothing is being installed. */
  private readonly installedAt: Float64Array;
  private readonly failures: Uint8Array;
  private readonly shifts: Float32Array;

  constructor({ devices, day, random, drawVersion }: FleetOptions) {
    this.size = devices;
    this.day = day;
    this.random = random;
    this.running = Uint16Array.from({ length: devices }, () => this.numberOf(drawVersion()));
    this.offered = new Uint16Array(devices);
    this.installedAt = new Float64Array(devices).fill(Number.POSITIVE_INFINITY);
    this.failures = new Uint8Array(devices);
    this.shifts = Float32Array.from({ length: devices }, () => day.drawShift(random));
  }

  /** Returns when a device asks first: devices came at different times, so anywhere in an interval. */
  firstAsk(device: number): number {
    return this.awake(device, this.random() * INTERVAL_MS);
  }

  /** Returns the version that a device runs by now, having installed what was due. */
  versionAt(device: number, now: number): string {
    if ((this.installedAt[device] as number) <= now) {
      this.running[device] = this.offered[device] as number;
      this.installedAt[device] = Number.POSITIVE_INFINITY;
    }
    return this.versions[this.running[device] as number] as string;
  }

  /**
   * Takes an answer and returns when the device asks next. `offer` is the version that it was offered. One
   * that it was offered before goes on being installed; another one is installed instead.
   */
  answer(device: number, now: number, offer?: string): number {
    this.failures[device] = 0;
    if (offer !== undefined) {
      const number = this.numberOf(offer);
      const isBusy = Number.isFinite(this.installedAt[device] as number);
      if (!isBusy) this.installedAt[device] = now + this.drawInstallMs();
      this.offered[device] = number;
    }
    return this.awake(device, now + INTERVAL_MS * (1 + JITTER * (2 * this.random() - 1)));
  }

  /** Takes a failure, or an answer to come again later, and returns when the device tries again. */
  fail(device: number, now: number): number {
    const failures = Math.min(255, (this.failures[device] as number) + 1);
    this.failures[device] = failures;
    return this.awake(device, now + backOffMs(RETRY, failures) * (0.5 + this.random() / 2));
  }

  /** Tells whether the last check of a device failed, so that its next one is a retry. */
  isRetrying(device: number): boolean {
    return (this.failures[device] as number) > 0;
  }

  /** Returns the share of the devices that are awake, 0 to 1. */
  awakeShare(now: number): number {
    return this.shareOf((device) => this.awake(device, now) === now);
  }

  /** Returns the share of the devices that run this version, 0 to 1. */
  shareOn(version: string, now: number): number {
    return this.shareOf((device) => this.versionAt(device, now) === version);
  }

  private shareOf(isOne: (device: number) => boolean): number {
    let count = 0;
    for (let device = 0; device < this.size; device++) if (isOne(device)) count += 1;
    return count / this.size;
  }

  private awake(device: number, at: number): number {
    return this.day.nextAwake(at, this.shifts[device] as number);
  }

  /** Draws how long an installation takes: any factor between the two ends is as likely as another. */
  private drawInstallMs(): number {
    const [shortest, longest] = INSTALL_MS;
    return shortest * (longest / shortest) ** this.random();
  }

  private numberOf(version: string): number {
    const known = this.versions.indexOf(version);
    return known >= 0 ? known : this.versions.push(version) - 1;
  }
}
