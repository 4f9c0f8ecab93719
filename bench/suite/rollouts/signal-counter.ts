// Counts of the signals of one release, kept check-in by check-in by the definitions of docs/contract.md
// 27.6. test/bench/rollouts.test.ts holds them against the model that the ledger's counts are held against.

import { NO_SIGNALS, type SignalCounts } from '../../../src/domain/rollout/signal-counts.ts';

const MINUTE_MS = 60_000;
const HASHES = 2 ** 32;
/** Share of the reports of one client address that count, of the devices that were offered the release. */
const ADDRESS_SHARE = 0.01;
const ADDRESS_MIN = 3;
const NEVER = -1;

/** Device as the counts see it: not when it was not known long enough before the publishing. */
type CountedDevice = {
  readonly isKnown: boolean;
  /** Hash below 2^32: devices with the lowest ones are looked at. */
  readonly hash: number;
};

type CounterOptions = {
  readonly devices: readonly CountedDevice[];
  /** Whole minutes from the publishing that may be counted. */
  readonly minutes: number;
  readonly stuckAfterMinutes: number;
  readonly silentAfterMinutes: number;
  /** Numbers of devices that are looked at of those that the release reached, and of all. */
  readonly reachedLookedAt: number;
  readonly othersLookedAt: number;
};

/** Version that a device runs, as signals tell versions apart; `other` is one above the release. */
export type Runs = 'below' | 'release' | 'other';

/** What a device did, in milliseconds since the publishing; `NEVER` for what did not happen. */
type Did = ReturnType<typeof counted>;

// One literal without spreads: else each is a dictionary, which is read 20 times as slowly.
function counted({ isKnown, hash }: CountedDevice) {
  return {
    isKnown,
    hash,
    offeredAt: NEVER,
    lastSeen: NEVER,
    reachedAt: NEVER,
    isInstalled: false,
    isReverted: false,
    isStuck: false,
    hasFailed: false,
  };
}

/** Devices by the minute of an event, and how many of them lie before one minute. */
class SumBefore {
  private readonly byMinute: Int32Array;
  private before = 0;
  sum = 0;

  constructor(minutes: number) {
    this.byMinute = new Int32Array(minutes);
  }

  add(at: number, devices: number): void {
    const minute = Math.floor(at / MINUTE_MS);
    this.byMinute[minute] = (this.byMinute[minute] as number) + devices;
    if (minute < this.before) this.sum += devices;
  }

  moveTo(minute: number): void {
    for (; this.before < minute; this.before++) this.sum += this.byMinute[this.before] as number;
    for (; this.before > Math.max(minute, 0); this.before--) {
      this.sum -= this.byMinute[this.before - 1] as number;
    }
  }
}

export class SignalCounter {
  private readonly options: CounterOptions;
  private readonly devices: readonly Did[];
  private readonly failures = new Map<number, number>();
  private readonly offeredBefore: SumBefore;
  private readonly reachedBefore: SumBefore;
  private readonly silent: SumBefore;
  private readonly silentOthers: SumBefore;
  private readonly othersScale: number;
  /** Minutes at which steps began, and of the base of silent ones those that were reached in each. */
  private readonly stepMinutes: number[] = [0];
  private readonly reachedBy: SumBefore[];
  /** Others, and devices that the release reached, seen last before the step in which most were reached. */
  private readonly othersBefore: SumBefore;
  private readonly reachedUnseen: SumBefore;
  /** Devices that the release reached, and the hash below which they are looked at. */
  private readonly reached: Did[] = [];
  private hashBelow = HASHES;
  private offered = 0;
  private installed = 0;
  private reverted = 0;
  private stuck = 0;
  private others = 0;

  constructor(options: CounterOptions) {
    const { devices, minutes, othersLookedAt } = options;
    this.options = options;
    this.devices = devices.map(counted);
    this.offeredBefore = new SumBefore(minutes);
    this.reachedBefore = new SumBefore(minutes);
    this.silent = new SumBefore(minutes);
    this.silentOthers = new SumBefore(minutes);
    this.othersScale = Math.max(devices.length / othersLookedAt, 1);
    this.reachedBy = [new SumBefore(minutes)];
    this.othersBefore = new SumBefore(minutes);
    this.reachedUnseen = new SumBefore(minutes);
  }

  /** Notes that a step begins in this minute. */
  beginStep(minute: number): void {
    this.stepMinutes.push(minute);
    this.reachedBy.push(new SumBefore(this.options.minutes));
  }

  /** Records a check-in, later than the device's last one, in milliseconds since the publishing. */
  record(index: number, at: number, runs: Runs, isOffered: boolean): void {
    const device = this.devices[index] as Did;
    if (!device.isKnown) return;
    const wasReached = device.reachedAt !== NEVER;
    const isReached = wasReached || isOffered || runs === 'release';
    this.see(device, at, wasReached, isReached);
    device.lastSeen = at;
    if (!isReached) return;
    if (!wasReached) {
      device.reachedAt = at;
      this.reached.push(device);
      if (this.isLookedAt(device)) this.reach(at, 1);
    }
    if (isOffered && device.offeredAt === NEVER) {
      device.offeredAt = at;
      this.offered += 1;
      if (this.isLookedAt(device)) this.offeredBefore.add(at, 1);
    }
    if (runs === 'release' && !device.isInstalled) {
      device.isInstalled = true;
      this.installed += 1;
    }
    if (runs === 'below' && device.isInstalled && !device.isReverted) {
      device.isReverted = true;
      this.reverted += 1;
    }
    this.wait(device, at);
  }

  /** Records that a device reported, from this client address, that it could not install the release. */
  fail(index: number, address: number): void {
    const device = this.devices[index] as Did;
    if (!device.isKnown || device.hasFailed || device.offeredAt === NEVER) return;
    device.hasFailed = true;
    this.failures.set(address, (this.failures.get(address) ?? 0) + 1);
  }

  /** Returns the counts at the beginning of a minute, not before that of the last call. */
  counts(minute: number): SignalCounts {
    const { stuckAfterMinutes, silentAfterMinutes } = this.options;
    this.offeredBefore.moveTo(minute - stuckAfterMinutes);
    for (const sum of [this.reachedBefore, this.silent, this.silentOthers, ...this.reachedBy]) {
      sum.moveTo(minute - silentAfterMinutes);
    }
    const scale = Math.max(this.reached.length / this.options.reachedLookedAt, 1);
    this.lookAtLess(HASHES / scale);
    const { offered, installed, reverted, stuck, othersScale } = this;
    this.compareSince();
    return {
      ...{ offered, installed, reverted, stuck, scale, failed: this.countFailures() },
      silent: this.silent.sum,
      stuckBase: this.offeredBefore.sum,
      silentBase: this.reachedBefore.sum,
      compared: {
        hits: Math.max(this.silent.sum - this.reachedUnseen.sum, 0),
        base: Math.max(this.reachedBefore.sum - this.reachedUnseen.sum, 0),
      },
      others: {
        devices: this.others - this.othersBefore.sum,
        silent: Math.max(this.silentOthers.sum - this.othersBefore.sum, 0),
        scale: othersScale,
      },
      // Of one address there are few devices: leaving one out changes next to nothing.
      networks: NO_SIGNALS.networks,
    };
  }

  /** Compares with others that were seen since the step in which most of the base was reached. */
  private compareSince(): void {
    const sums = this.reachedBy.map(({ sum }) => sum);
    const since = this.stepMinutes[sums.indexOf(Math.max(...sums))] as number;
    this.othersBefore.moveTo(since);
    this.reachedUnseen.moveTo(since);
  }

  private reach(at: number, devices: number): void {
    this.reachedBefore.add(at, devices);
    const step = this.stepMinutes.findLastIndex((begun) => begun <= Math.floor(at / MINUTE_MS));
    this.reachedBy[step]?.add(at, devices);
  }

  private other(at: number, devices: number): void {
    this.silentOthers.add(at, devices);
    this.others += devices;
    this.othersBefore.add(at, devices);
  }

  private seen(at: number, devices: number): void {
    this.silent.add(at, devices);
    this.reachedUnseen.add(at, devices);
  }

  /** Whether a device that the release reached is looked at; fewer and fewer are, of more that it reaches. */
  private isLookedAt({ hash }: Did): boolean {
    return hash < this.hashBelow;
  }

  private lookAtLess(hashBelow: number): void {
    if (hashBelow >= this.hashBelow) return;
    for (const device of this.reached) {
      if (device.hash < hashBelow || !this.isLookedAt(device)) continue;
      this.reach(device.reachedAt, -1);
      this.seen(device.lastSeen, -1);
      if (device.offeredAt !== NEVER) this.offeredBefore.add(device.offeredAt, -1);
      this.stuck -= Number(device.isStuck);
    }
    this.hashBelow = hashBelow;
  }

  /** Moves a device's last-seen time, among the others or among those that the release has reached. */
  private see(device: Did, at: number, wasReached: boolean, isReached: boolean): void {
    const { lastSeen, hash } = device;
    const isOther = hash * this.othersScale < HASHES;
    const isLookedAt = this.isLookedAt(device);
    if (wasReached && isLookedAt) this.seen(lastSeen, -1);
    if (!wasReached && isOther && lastSeen !== NEVER) this.other(lastSeen, -1);
    if (isReached && isLookedAt) this.seen(at, 1);
    if (!isReached && isOther) this.other(at, 1);
  }

  /** Keeps whether a device waits for too long since it was offered the release. */
  private wait(device: Did, at: number): void {
    const { offeredAt, isInstalled } = device;
    const limitMs = this.options.stuckAfterMinutes * MINUTE_MS;
    const isStuck = offeredAt !== NEVER && !isInstalled && at - offeredAt > limitMs;
    if (this.isLookedAt(device)) this.stuck += Number(isStuck) - Number(device.isStuck);
    device.isStuck = isStuck;
  }

  private countFailures(): number {
    const max = Math.max(ADDRESS_MIN, Math.floor(this.offered * ADDRESS_SHARE));
    let sum = 0;
    for (const devices of this.failures.values()) sum += Math.min(devices, max);
    return sum;
  }
}
