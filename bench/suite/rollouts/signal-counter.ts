// Counts of the signals of one release, kept check-in by check-in by the definitions of docs/contract.md
// 27.6. test/bench/rollouts.test.ts holds them against the model that the ledger's counts are held against.

import type {
  NetworkPart,
  SignalCounts,
  SignalNetworks,
} from '../../../src/domain/rollout/signal-counts.ts';

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
  /** Number of its network. */
  readonly network: number;
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
function counted({ isKnown, hash, network }: CountedDevice, tallies: readonly Tally[]) {
  return {
    isKnown,
    hash,
    network,
    /** What it counts in: that of all devices, and of its network if it shares one. */
    tallies,
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

/** Counts of some devices: of all, or of those of one network. */
class Tally {
  readonly offeredBefore: SumBefore;
  readonly reachedBefore: SumBefore;
  readonly silent: SumBefore;
  readonly silentOthers: SumBefore;
  /** Others, and devices that the release reached, seen last before the step in which most were reached. */
  readonly othersBefore: SumBefore;
  readonly reachedUnseen: SumBefore;
  offered = 0;
  installed = 0;
  reverted = 0;
  stuck = 0;
  others = 0;

  constructor(minutes: number) {
    this.offeredBefore = new SumBefore(minutes);
    this.reachedBefore = new SumBefore(minutes);
    this.silent = new SumBefore(minutes);
    this.silentOthers = new SumBefore(minutes);
    this.othersBefore = new SumBefore(minutes);
    this.reachedUnseen = new SumBefore(minutes);
  }

  /** Counts what was before these minutes. */
  moveTo(stuckBefore: number, silentBefore: number): void {
    this.offeredBefore.moveTo(stuckBefore);
    for (const sum of [this.reachedBefore, this.silent, this.silentOthers])
      sum.moveTo(silentBefore);
  }

  /** Compares devices that were seen since this minute. */
  compareSince(minute: number): void {
    this.othersBefore.moveTo(minute);
    this.reachedUnseen.moveTo(minute);
  }

  compared() {
    const unseen = this.reachedUnseen.sum;
    return {
      hits: Math.max(this.silent.sum - unseen, 0),
      base: Math.max(this.reachedBefore.sum - unseen, 0),
    };
  }

  otherDevices() {
    const before = this.othersBefore.sum;
    return {
      devices: this.others - before,
      silent: Math.max(this.silentOthers.sum - before, 0),
    };
  }

  other(at: number, devices: number): void {
    this.silentOthers.add(at, devices);
    this.others += devices;
    this.othersBefore.add(at, devices);
  }

  seen(at: number, devices: number): void {
    this.silent.add(at, devices);
    this.reachedUnseen.add(at, devices);
  }
}

export class SignalCounter {
  private readonly options: CounterOptions;
  private readonly devices: readonly Did[];
  /** Devices that reported a failure, by the number of their network. */
  private readonly failures = new Map<number, number>();
  private readonly all: Tally;
  /** Networks that several devices share, by number. */
  private readonly shared = new Map<number, Tally>();
  private readonly othersScale: number;
  /** Minutes at which steps began, and of the base of silent ones those that were reached in each. */
  private readonly stepMinutes: number[] = [0];
  private readonly reachedBy: SumBefore[];
  /** Devices that the release reached, and the hash below which they are looked at. */
  private readonly reached: Did[] = [];
  private hashBelow = HASHES;

  constructor(options: CounterOptions) {
    const { devices, minutes, othersLookedAt } = options;
    this.options = options;
    const all = new Tally(minutes);
    this.all = all;
    const networks = new Set<number>();
    for (const { isKnown, network } of devices) {
      if (isKnown && networks.has(network)) this.shared.set(network, new Tally(minutes));
      if (isKnown) networks.add(network);
    }
    const own = new Map([...this.shared].map(([network, tally]) => [network, [all, tally]]));
    const alone = [all];
    this.devices = devices.map((device) => counted(device, own.get(device.network) ?? alone));
    this.othersScale = Math.max(devices.length / othersLookedAt, 1);
    this.reachedBy = [new SumBefore(minutes)];
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
      if (this.isLookedAt(device)) this.reach(device, 1);
    }
    const isFirstOffer = isOffered && device.offeredAt === NEVER;
    if (isFirstOffer) device.offeredAt = at;
    const isFirstRun = runs === 'release' && !device.isInstalled;
    device.isInstalled ||= isFirstRun;
    const isFirstReturn = runs === 'below' && device.isInstalled && !device.isReverted;
    device.isReverted ||= isFirstReturn;
    for (const tally of device.tallies) {
      tally.offered += Number(isFirstOffer);
      if (isFirstOffer && this.isLookedAt(device)) tally.offeredBefore.add(at, 1);
      tally.installed += Number(isFirstRun);
      tally.reverted += Number(isFirstReturn);
    }
    this.wait(device, at);
  }

  /** Records that a device reported, from its network, that it could not install the release. */
  fail(index: number): void {
    const device = this.devices[index] as Did;
    if (!device.isKnown || device.hasFailed || device.offeredAt === NEVER) return;
    device.hasFailed = true;
    this.failures.set(device.network, (this.failures.get(device.network) ?? 0) + 1);
  }

  /**
   * Returns the counts at the beginning of a minute, not before that of the last call. Their networks are
   * those of the moment at which they are read: guards look at them where a condition holds.
   */
  counts(minute: number): SignalCounts {
    const { stuckAfterMinutes, silentAfterMinutes } = this.options;
    const tallies = [this.all, ...this.shared.values()];
    const silentBefore = minute - silentAfterMinutes;
    for (const tally of tallies) tally.moveTo(minute - stuckAfterMinutes, silentBefore);
    for (const sum of this.reachedBy) sum.moveTo(silentBefore);
    const scale = Math.max(this.reached.length / this.options.reachedLookedAt, 1);
    this.lookAtLess(HASHES / scale);
    const sums = this.reachedBy.map(({ sum }) => sum);
    const since = this.stepMinutes[sums.indexOf(Math.max(...sums))] as number;
    for (const tally of tallies) tally.compareSince(since);
    const { offered, installed, reverted, stuck } = this.all;
    return {
      ...{ offered, installed, reverted, stuck, scale, failed: this.countFailures(offered) },
      silent: this.all.silent.sum,
      stuckBase: this.all.offeredBefore.sum,
      silentBase: this.all.reachedBefore.sum,
      compared: this.all.compared(),
      others: { ...this.all.otherDevices(), scale: this.othersScale },
      networks: this.networks(),
    };
  }

  private networks(): SignalCounts['networks'] {
    const counter = this;
    const of = (partOf: (tally: Tally) => NetworkPart) => counter.partsOf(partOf);
    return {
      get failed() {
        return { count: counter.failures.size, parts: counter.failingParts() };
      },
      get reverted() {
        return of(({ reverted, installed }) => ({ hits: reverted, base: installed }));
      },
      get stuck() {
        return of(({ stuck, offeredBefore }) => ({ hits: stuck, base: offeredBefore.sum }));
      },
      get silent() {
        return of((tally) => {
          const { devices, silent } = tally.otherDevices();
          return { ...tally.compared(), others: devices, silentOthers: silent };
        });
      },
    };
  }

  /** Returns the part of each network that several devices share, and those that a single device can be. */
  private partsOf(partOf: (tally: Tally) => NetworkPart): SignalNetworks {
    const shared = [...this.shared.values()].map(partOf);
    const left = shared.reduce(less, partOf(this.all));
    const { hits, base, others = 0, silentOthers = 0 } = left;
    const single = [
      ...(hits > 0 ? [{ hits: 1, base: 1 }] : []),
      ...(base > hits ? [{ hits: 0, base: 1 }] : []),
      ...(silentOthers > 0 ? [{ hits: 0, base: 0, others: 1, silentOthers: 1 }] : []),
      ...(others > silentOthers ? [{ hits: 0, base: 0, others: 1, silentOthers: 0 }] : []),
    ];
    const count = hits + shared.filter((part) => part.hits > 0).length;
    return { count, parts: [...shared, ...single] };
  }

  private failingParts(): readonly NetworkPart[] {
    const all = this.countFailures(this.all.offered);
    const partOf = (base: number, failed: number) => {
      const offered = this.all.offered - base;
      const own = Math.min(failed, countedMax(offered));
      return { hits: all - (this.countFailures(offered) - own), base };
    };
    const shared = [...this.shared].map(([network, { offered }]) =>
      partOf(offered, this.failures.get(network) ?? 0),
    );
    const isAlone = [...this.failures.keys()].some((network) => !this.shared.has(network));
    return [...shared, partOf(1, Number(isAlone))];
  }

  private reach(device: Did, devices: number): void {
    const { reachedAt } = device;
    for (const { reachedBefore } of device.tallies) reachedBefore.add(reachedAt, devices);
    const minute = Math.floor(reachedAt / MINUTE_MS);
    const step = this.stepMinutes.findLastIndex((begun) => begun <= minute);
    this.reachedBy[step]?.add(reachedAt, devices);
  }

  /** Whether a device that the release reached is looked at; fewer and fewer are, of more that it reaches. */
  private isLookedAt({ hash }: Did): boolean {
    return hash < this.hashBelow;
  }

  private lookAtLess(hashBelow: number): void {
    if (hashBelow >= this.hashBelow) return;
    for (const device of this.reached) {
      if (device.hash < hashBelow || !this.isLookedAt(device)) continue;
      this.reach(device, -1);
      for (const tally of device.tallies) {
        tally.seen(device.lastSeen, -1);
        if (device.offeredAt !== NEVER) tally.offeredBefore.add(device.offeredAt, -1);
        tally.stuck -= Number(device.isStuck);
      }
    }
    this.hashBelow = hashBelow;
  }

  /** Moves a device's last-seen time, among the others or among those that the release has reached. */
  private see(device: Did, at: number, wasReached: boolean, isReached: boolean): void {
    const { lastSeen, hash, tallies } = device;
    const isOther = hash * this.othersScale < HASHES;
    const isLookedAt = this.isLookedAt(device);
    for (const tally of tallies) {
      if (wasReached && isLookedAt) tally.seen(lastSeen, -1);
      if (!wasReached && isOther && lastSeen !== NEVER) tally.other(lastSeen, -1);
      if (isReached && isLookedAt) tally.seen(at, 1);
      if (!isReached && isOther) tally.other(at, 1);
    }
  }

  /** Keeps whether a device waits for too long since it was offered the release. */
  private wait(device: Did, at: number): void {
    const { offeredAt, isInstalled } = device;
    const limitMs = this.options.stuckAfterMinutes * MINUTE_MS;
    const isStuck = offeredAt !== NEVER && !isInstalled && at - offeredAt > limitMs;
    const change = Number(isStuck) - Number(device.isStuck);
    device.isStuck = isStuck;
    if (change === 0 || !this.isLookedAt(device)) return;
    for (const tally of device.tallies) tally.stuck += change;
  }

  /** Counts the failures, where so many devices were offered the release. */
  private countFailures(offered: number): number {
    const max = countedMax(offered);
    let sum = 0;
    for (const devices of this.failures.values()) sum += Math.min(devices, max);
    return sum;
  }
}

/** Returns how many failures of one address count. */
function countedMax(offered: number): number {
  return Math.max(ADDRESS_MIN, Math.floor(offered * ADDRESS_SHARE));
}

function less(whole: NetworkPart, part: NetworkPart): NetworkPart {
  return {
    hits: whole.hits - part.hits,
    base: whole.base - part.base,
    others: (whole.others ?? 0) - (part.others ?? 0),
    silentOthers: (whole.silentOthers ?? 0) - (part.silentOthers ?? 0),
  };
}
