// Devices of a simulated rollout, each with what a real one does: it asks at its own pace while it is on,
// installs what it is offered after some time, comes new or leaves. All times are whole milliseconds since a
// Monday 0:00: small integers, which V8 keeps within an object; fractions made a check twice as slow.

import {
  COHORT_BUCKETS,
  cohortBucket,
  cohortThreshold,
  hashText,
} from '../../../src/domain/decision/cohort.ts';
import { drawFrom } from '../../random.ts';
import { versionMix } from '../fleet/device-fleet.ts';
import { DeviceWeek } from '../fleet/device-hours.ts';
import type { Runs } from './signal-counter.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const NEVER = 2 ** 31 - 1;

type Fate =
  | 'fine'
  /** Runs the release, asks once more, and is never heard of again. */
  | 'dies after'
  /** Never asks again once the installation has begun. */
  | 'dies installing'
  /** Cannot install it, and goes on as before; tells nobody, or reports the failure. */
  | 'cannot'
  | 'cannot and says so'
  /** Runs it for some hours, then the version of before. */
  | 'leaves again';

/** What is wrong with a release: shares of the devices, 0 to 1, by fate; the others are fine. */
export type Trouble = {
  readonly name: string;
  readonly shares: readonly (readonly [fate: Fate, share: number])[];
};

/** Troubles that every release has: some disks are full, and some people do not like what they got. */
const ORDINARY: Trouble['shares'] = [
  ['cannot', 0.001],
  ['cannot and says so', 0.001],
  ['leaves again', 0.002],
];

export const GOOD: Trouble = { name: 'good', shares: ORDINARY };

/** Releases that must be stopped. */
export const BAD: readonly Trouble[] = [
  bad('bricks 3 %', ['dies after', 0.015], ['dies installing', 0.015]),
  bad('5 % cannot install', ['cannot', 0.045], ['cannot and says so', 0.005]),
  bad('4 % leave again', ['leaves again', 0.04]),
];

/** Hours between two checks of a device, with the share of the devices; each varies by a tenth. */
const INTERVALS = [
  [1, 0.8],
  [6, 0.12],
  [24, 0.06],
  [72, 0.02],
] as const;
const JITTER = 0.1;
/** Share of the devices that leave the fleet in a day; as many come new to it. */
const CHURN_PER_DAY = 0.003;
/** Time for which most devices were known when the release is published. */
const LONG_KNOWN_MS = 10 * DAY_MS;
/** Share of the devices on a platform that the release has no artifact for. */
const OTHER_PLATFORM_SHARE = 0.03;
const VERSIONS_BEFORE = 6;

/** Time from an offer until the device is ready to install: any factor between the two is as likely. */
const INSTALL_MS = [MINUTE_MS, 8 * HOUR_MS] as const;
/** Time until a device is ready whose owner puts it off; shares of those on the newest version and others. */
const PUT_OFF_MS = [8 * HOUR_MS, 3 * DAY_MS] as const;
const PUT_OFF_SHARES = [0.01, 0.04] as const;
/** Share of the devices that install what is ready when they are switched on. */
const AT_START_SHARE = 0.9;
/** Hours for which a device stays on a release that it leaves again. */
const STAY_MS = [HOUR_MS, DAY_MS] as const;
/** Share of the devices that ask from one of the few addresses of companies. */
const COMPANY_SHARE = 0.2;
const COMPANIES = 20;
/** Addresses of strangers and of an office. */
const [STRANGERS, OFFICE] = [-1, -2];

const INVENTED_FATES: readonly Fate[] = ['dies installing', 'cannot and says so', 'leaves again'];

export type SimulatedDevice = ReturnType<SimulatedFleet['draw']>;

export type FleetSettings = {
  readonly devices: number;
  /** Whether all of them are behind one address. */
  readonly isOffice: boolean;
  /** Further devices that strangers invent around the publishing, of an address each, to halt the rollout. */
  readonly invented: number;
  /** Further devices that strangers invent long before the publishing, behind one address. */
  readonly strangers: number;
  readonly trouble: Trouble;
  readonly seed: number;
};
type FleetOptions = FleetSettings & { readonly publishedAt: number; readonly endsAt: number };

export class SimulatedFleet {
  readonly devices: readonly SimulatedDevice[];
  private readonly week = new DeviceWeek();
  private readonly options: FleetOptions;

  constructor(options: FleetOptions) {
    this.options = options;
    const length = options.devices + options.invented + options.strangers;
    this.devices = Array.from({ length }, (_, index) => this.draw(index));
  }

  firstCheck(device: SimulatedDevice): number {
    const { publishedAt } = this.options;
    const from = Math.max(publishedAt, device.firstSeen);
    if (device.firstSeen > publishedAt) return this.nextOn(device, from);
    return this.nextOn(device, Math.floor(from + device.intervalMs * drawFrom(device)));
  }

  nextCheck(device: SimulatedDevice, at: number): number {
    const factor = 1 + JITTER * (2 * drawFrom(device) - 1);
    return this.nextOn(device, at + Math.floor(device.intervalMs * factor));
  }

  /** A device asks; undefined when it does not any more. */
  check(device: SimulatedDevice, at: number, rolloutPct: number) {
    if (device.isDead || at >= device.goneAt) return undefined;
    const isReady = at >= device.readyAt || (device.wasOff && device.isAtStart);
    const isTrying = !device.hasTried && device.readyAt !== NEVER && isReady;
    const hasFailed = isTrying && this.install(device, at);
    if (device.isDead && device.fate === 'dies installing') return undefined;
    if (device.runs === 'release' && at >= device.leavesAt) device.runs = 'below';
    const isOffered = device.runs === 'below' && device.bucket < cohortThreshold(rolloutPct);
    if (isOffered && !device.hasTried && device.readyAt === NEVER) {
      device.readyAt = at + drawDelay(device);
    }
    return { isOffered, hasFailed };
  }

  /** Installs the release, or not; returns whether the device reports a failure. */
  private install(device: SimulatedDevice, at: number): boolean {
    const { fate } = device;
    device.hasTried = true;
    if (fate === 'cannot' || fate === 'cannot and says so') return fate === 'cannot and says so';
    if (fate === 'leaves again') device.leavesAt = at + between(STAY_MS, drawFrom(device));
    device.isDead = fate === 'dies after' || fate === 'dies installing';
    device.runs = 'release';
    return false;
  }

  private nextOn(device: SimulatedDevice, at: number): number {
    const on = Math.ceil(this.week.nextOn(at, device.shiftHours, device.isOffice));
    device.wasOff = on > at;
    return on;
  }

  draw(index: number) {
    const { seed, devices, publishedAt, trouble, invented } = this.options;
    const id = `device ${index}`;
    const source = { state: hashText(id, seed) | 0 };
    const random = () => drawFrom(source);
    const isInvented = index >= devices;
    const isStranger = index >= devices + invented;
    const firstSeen = isInvented ? this.inventedAt(index) : this.drawFirstSeen(random);
    const hasArtifact = random() >= OTHER_PLATFORM_SHARE;
    const lifeMs = (-Math.log(1 - random()) / CHURN_PER_DAY) * DAY_MS;
    const { shiftHours, isOffice } = this.week.draw(random);
    // One literal without spreads: else each device is a dictionary, which is read 20 times as slowly.
    return {
      id,
      /** State of its own random numbers: what one device does changes nothing for another. */
      state: hashText(id, ~seed) | 0,
      /** Place of the version that it runs at first among those before the release; 0 is the newest. */
      versionBefore: versionMix(random(), VERSIONS_BEFORE),
      address: this.addressOf(index, isStranger, random),
      firstSeen,
      goneAt: Math.min(Math.floor(Math.max(publishedAt, firstSeen) + lifeMs), NEVER),
      intervalMs: (drawn(INTERVALS, random()) ?? 1) * HOUR_MS,
      shiftHours,
      isOffice,
      fate: isInvented ? (INVENTED_FATES[index % 3] as Fate) : fateOf(trouble, random()),
      isAtStart: random() < AT_START_SHARE,
      /** Bucket in the rollout; above all of them when the release has nothing for its platform. */
      bucket: hasArtifact ? cohortBucket(hashText(id), hashText('', seed)) : COHORT_BUCKETS,
      runs: 'below' as Runs,
      /** When what it was offered is ready to be installed, and when it leaves the release again. */
      readyAt: NEVER,
      leavesAt: NEVER,
      hasTried: false,
      isDead: false,
      wasOff: false,
    };
  }

  /** Most devices were there long before; others come from the day before the release on. */
  private drawFirstSeen(random: () => number): number {
    const { publishedAt, endsAt } = this.options;
    const fromMs = publishedAt - DAY_MS;
    const isNew = random() < CHURN_PER_DAY * ((endsAt - fromMs) / DAY_MS);
    const newAt = Math.floor(fromMs + random() * (endsAt - fromMs));
    return isNew ? newAt : publishedAt - LONG_KNOWN_MS;
  }

  /** Strangers share an address, as an office does, and many companies share a few. */
  private addressOf(index: number, isStranger: boolean, random: () => number): number {
    const isOfCompany = random() < COMPANY_SHARE;
    const company = isOfCompany ? Math.floor(random() * COMPANIES) : COMPANIES + index;
    if (isStranger) return STRANGERS;
    return this.options.isOffice && index < this.options.devices ? OFFICE : company;
  }

  /**
   * Strangers of one address were there long before the release; half of the other invented devices an hour
   * before it, and half come an hour after it.
   */
  private inventedAt(index: number): number {
    const { publishedAt, devices, invented } = this.options;
    if (index >= devices + invented) return publishedAt - LONG_KNOWN_MS;
    return publishedAt + (index % 2 === 0 ? -HOUR_MS : HOUR_MS);
  }
}

function drawDelay(device: SimulatedDevice): number {
  const share = PUT_OFF_SHARES[device.versionBefore === 0 ? 0 : 1];
  return between(drawFrom(device) < share ? PUT_OFF_MS : INSTALL_MS, drawFrom(device));
}

function bad(name: string, ...shares: Trouble['shares']): Trouble {
  return { name, shares: [...shares, ...ORDINARY] };
}

/** Returns the fate of a device; `random` is uniform in [0, 1). */
function fateOf({ shares }: Trouble, random: number): Fate {
  return drawn(shares, random) ?? 'fine';
}

/** Value whose share, after those before it, has the random number. */
function drawn<Value>(shares: readonly (readonly [Value, number])[], random: number) {
  let above = random;
  for (const [value, share] of shares) {
    if (above < share) return value;
    above -= share;
  }
  return undefined;
}

function between([shortest, longest]: readonly [number, number], random: number): number {
  return Math.floor(shortest * (longest / shortest) ** random);
}
