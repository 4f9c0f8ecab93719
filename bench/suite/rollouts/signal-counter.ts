// Counts of the signals of one release, kept check-in by check-in by the definitions of docs/contract.md
// 27.6. test/bench/rollouts.test.ts holds them against the model that the ledger's counts are held against.

import type { SignalCounts } from '../../../src/domain/rollout/judge-health.ts';

const MINUTE_MS = 60_000;
const HASHES = 2 ** 32;
/** Share of the reports of one client address that count, of the devices that were offered the release. */
const ADDRESS_SHARE = 0.01;
const ADDRESS_MIN = 3;
const NEVER = -1;

export type CounterOptions = {
  readonly devices: number;
  /** Whole minutes from the publishing that may be counted. */
  readonly minutes: number;
  readonly stuckAfterMinutes: number;
  readonly silentAfterMinutes: number;
  /** Whether a device was known long enough before the publishing. */
  isKnown(device: number): boolean;
  /** Hash of a device, below 2^32: those with the lowest ones are looked at. */
  hashOf(device: number): number;
  /** Numbers of devices that are looked at of those that the release reached, and of all. */
  readonly reachedLookedAt: number;
  readonly othersLookedAt: number;
};

/** Version that a device runs, as signals tell versions apart; `other` is one above the release. */
export type Runs = 'below' | 'release' | 'other';

/**
 * Counts of devices by the minute of an event, of which those are wanted that lie a fixed time back: a sum
 * that moves on with the time.
 */
class PastSum {
  private readonly byMinute: Int32Array;
  private readonly afterMinutes: number;
  private upTo = 0;
  sum = 0;

  /** Events of a minute are in the sum `afterMinutes` after its end. */
  constructor(minutes: number, afterMinutes: number) {
    this.byMinute = new Int32Array(minutes);
    this.afterMinutes = afterMinutes;
  }

  add(minute: number, devices: number): void {
    this.byMinute[minute] = (this.byMinute[minute] as number) + devices;
    if (minute < this.upTo) this.sum += devices;
  }

  advance(now: number): void {
    for (; this.upTo < now - this.afterMinutes; this.upTo++) {
      this.sum += this.byMinute[this.upTo] as number;
    }
  }
}

export class SignalCounter {
  private readonly options: CounterOptions;
  /** Milliseconds since the publishing; `NEVER` for what did not happen. */
  private readonly offeredAt: Float64Array;
  private readonly lastSeen: Float64Array;
  private readonly reachedAt: Float64Array;
  private readonly isInstalled: Uint8Array;
  private readonly isReverted: Uint8Array;
  private readonly isStuck: Uint8Array;
  private readonly failures = new Map<number, number>();
  private readonly failed: Uint8Array;
  private readonly offeredBefore: PastSum;
  private readonly reachedBefore: PastSum;
  private readonly silent: PastSum;
  private readonly silentOthers: PastSum;
  /** Devices that the release reached, and the hash below which they are looked at. */
  private reached: number[] = [];
  private hashBelow = HASHES;
  private offered = 0;
  private installed = 0;
  private reverted = 0;
  private stuck = 0;
  private others = 0;

  constructor(options: CounterOptions) {
    const { devices, minutes, stuckAfterMinutes, silentAfterMinutes } = options;
    this.options = options;
    this.offeredAt = new Float64Array(devices).fill(NEVER);
    this.lastSeen = new Float64Array(devices).fill(NEVER);
    this.reachedAt = new Float64Array(devices).fill(NEVER);
    this.isInstalled = new Uint8Array(devices);
    this.isReverted = new Uint8Array(devices);
    this.isStuck = new Uint8Array(devices);
    this.failed = new Uint8Array(devices);
    this.offeredBefore = new PastSum(minutes, stuckAfterMinutes);
    this.reachedBefore = new PastSum(minutes, silentAfterMinutes);
    this.silent = new PastSum(minutes, silentAfterMinutes);
    this.silentOthers = new PastSum(minutes, silentAfterMinutes);
  }

  /** Records a check-in, later than the device's last one, in milliseconds since the publishing. */
  record(device: number, at: number, runs: Runs, isOffered: boolean): void {
    if (!this.options.isKnown(device)) return;
    const minute = Math.floor(at / MINUTE_MS);
    const isOn = runs === 'release';
    const wasReached = this.reachedAt[device] !== NEVER;
    const isReached = wasReached || isOffered || isOn;
    this.see(device, minute, wasReached, isReached);
    this.lastSeen[device] = at;
    if (!isReached) return;
    if (!wasReached) {
      this.reachedAt[device] = at;
      this.reached.push(device);
      if (this.isLookedAt(device)) this.reachedBefore.add(minute, 1);
    }
    if (isOffered && this.offeredAt[device] === NEVER) {
      this.offeredAt[device] = at;
      this.offered += 1;
      if (this.isLookedAt(device)) this.offeredBefore.add(minute, 1);
    }
    this.move(device, runs);
    this.wait(device, at);
  }

  /** Records that a device reported, from this client address, that it could not install the release. */
  fail(device: number, address: number): void {
    if (!this.options.isKnown(device) || this.failed[device] === 1) return;
    if (this.offeredAt[device] === NEVER) return;
    this.failed[device] = 1;
    this.failures.set(address, (this.failures.get(address) ?? 0) + 1);
  }

  /** Returns the counts at the beginning of a minute, not before that of the last call. */
  counts(minute: number): SignalCounts {
    for (const sum of [this.offeredBefore, this.reachedBefore, this.silent, this.silentOthers]) {
      sum.advance(minute);
    }
    const scale = Math.max(this.reached.length / this.options.reachedLookedAt, 1);
    this.lookAtLess(HASHES / scale);
    const { offered, installed, reverted, stuck } = this;
    const othersScale = this.othersScale();
    return {
      ...{ offered, installed, reverted, stuck, scale, failed: this.countFailures() },
      silent: this.silent.sum,
      stuckBase: this.offeredBefore.sum,
      silentBase: this.reachedBefore.sum,
      others: {
        devices: Math.round(this.others * othersScale),
        silent: Math.round(this.silentOthers.sum * othersScale),
      },
    };
  }

  /** Whether a device that the release reached is looked at; fewer and fewer are, of more that it reaches. */
  private isLookedAt(device: number): boolean {
    return this.options.hashOf(device) < this.hashBelow;
  }

  private lookAtLess(hashBelow: number): void {
    if (hashBelow >= this.hashBelow) return;
    for (const device of this.reached) {
      const hash = this.options.hashOf(device);
      if (hash >= hashBelow && hash < this.hashBelow) this.lookAway(device);
    }
    this.hashBelow = hashBelow;
  }

  private lookAway(device: number): void {
    const minuteOf = (times: Float64Array) => Math.floor((times[device] as number) / MINUTE_MS);
    this.reachedBefore.add(minuteOf(this.reachedAt), -1);
    this.silent.add(minuteOf(this.lastSeen), -1);
    if (this.offeredAt[device] !== NEVER) this.offeredBefore.add(minuteOf(this.offeredAt), -1);
    this.stuck -= this.isStuck[device] as number;
  }

  private othersScale(): number {
    return Math.max(this.options.devices / this.options.othersLookedAt, 1);
  }

  /** Moves a device's last sighting, among the others or among those that the release has reached. */
  private see(device: number, minute: number, wasReached: boolean, isReached: boolean): void {
    const last = this.lastSeen[device] as number;
    const lastMinute = Math.floor(last / MINUTE_MS);
    const isOther = this.options.hashOf(device) * this.othersScale() < HASHES;
    const isLookedAt = this.isLookedAt(device);
    if (wasReached && isLookedAt) this.silent.add(lastMinute, -1);
    if (!wasReached && isOther && last !== NEVER) {
      this.silentOthers.add(lastMinute, -1);
      this.others -= 1;
    }
    if (isReached && isLookedAt) this.silent.add(minute, 1);
    if (!isReached && isOther) {
      this.silentOthers.add(minute, 1);
      this.others += 1;
    }
  }

  private move(device: number, runs: Runs): void {
    const wasInstalled = this.isInstalled[device] === 1;
    if (runs === 'release' && !wasInstalled) {
      this.isInstalled[device] = 1;
      this.installed += 1;
    }
    if (runs === 'below' && wasInstalled && this.isReverted[device] === 0) {
      this.isReverted[device] = 1;
      this.reverted += 1;
    }
  }

  /** Keeps whether a device waits for too long since it was offered the release. */
  private wait(device: number, at: number): void {
    const since = this.offeredAt[device] as number;
    const limitMs = this.options.stuckAfterMinutes * MINUTE_MS;
    const isStuck = since !== NEVER && this.isInstalled[device] === 0 && at - since > limitMs;
    if (this.isLookedAt(device)) this.stuck += Number(isStuck) - (this.isStuck[device] as number);
    this.isStuck[device] = Number(isStuck);
  }

  private countFailures(): number {
    const max = Math.max(ADDRESS_MIN, Math.floor(this.offered * ADDRESS_SHARE));
    let sum = 0;
    for (const devices of this.failures.values()) sum += Math.min(devices, max);
    return sum;
  }
}
