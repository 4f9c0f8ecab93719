// Devices of a simulated roll-out, each with what a real one does: it asks at its own pace while it is
// switched on, installs what it is offered after some time, comes new to the fleet or leaves it. It knows no
// clock; all times are whole milliseconds since a Monday 0:00. Of 24 days they are small integers, which V8
// keeps within the device's object: fractions, each an object of its own, made a check twice as slow.

import {
  COHORT_BUCKETS,
  cohortBucket,
  cohortThreshold,
  hashText,
} from '../../../src/domain/decision/cohort.ts';
import { drawFrom } from '../../random.ts';
import { versionMix } from '../fleet/version-mix.ts';
import { DeviceWeek } from './device-week.ts';
import type { Runs } from './signal-counter.ts';
import { type Fate, fateOf, type Trouble } from './trouble.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Time of what does not happen. */
const NEVER = 2 ** 31 - 1;

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
/** Number of versions before the release that are in use. */
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

/** What becomes of invented devices, in turn. */
const INVENTED_FATES: readonly Fate[] = ['dies installing', 'cannot and says so', 'leaves again'];

export type SimulatedDevice = {
  readonly id: string;
  /** State of its own random numbers: what one device does changes nothing for another. */
  state: number;
  /** Place of the version that it runs at first among those before the release; 0 is the newest. */
  readonly versionBefore: number;
  /** Client address, as a number. */
  readonly address: number;
  readonly firstSeen: number;
  readonly goneAt: number;
  readonly intervalMs: number;
  readonly shiftHours: number;
  readonly isOffice: boolean;
  readonly fate: Fate;
  readonly isAtStart: boolean;
  /** Bucket in the release's roll-out; above all of them when the release has nothing for its platform. */
  readonly bucket: number;
  runs: Runs;
  /** When what it was offered is ready to be installed; `NEVER` before. */
  readyAt: number;
  hasTried: boolean;
  /** When it leaves the release again; `NEVER` for most. */
  leavesAt: number;
  isDead: boolean;
  wasOff: boolean;
};

/** What a device tells and does at a check. */
export type DeviceCheck = { readonly isOffered: boolean; readonly hasFailed: boolean };

export type FleetOptions = {
  readonly devices: number;
  /** Further devices that strangers invent, to halt the roll-out. */
  readonly invented: number;
  readonly trouble: Trouble;
  readonly publishedAt: number;
  readonly endsAt: number;
  readonly seed: number;
};

export class SimulatedFleet {
  readonly devices: readonly SimulatedDevice[];
  private readonly week = new DeviceWeek();
  private readonly options: FleetOptions;

  constructor(options: FleetOptions) {
    this.options = options;
    const length = options.devices + options.invented;
    this.devices = Array.from({ length }, (_, index) => this.draw(index));
  }

  /** Returns when a device asks first after the release was published. */
  firstCheck(device: SimulatedDevice): number {
    const { publishedAt } = this.options;
    const from = Math.max(publishedAt, device.firstSeen);
    if (device.firstSeen > publishedAt) return this.nextOn(device, from);
    return this.nextOn(device, Math.floor(from + device.intervalMs * drawFrom(device)));
  }

  /** Returns when a device asks next. */
  nextCheck(device: SimulatedDevice, at: number): number {
    const factor = 1 + JITTER * (2 * drawFrom(device) - 1);
    return this.nextOn(device, at + Math.floor(device.intervalMs * factor));
  }

  /** A device asks; undefined when it does not any more. */
  check(device: SimulatedDevice, at: number, rolloutPct: number): DeviceCheck | undefined {
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
    device.hasTried = true;
    switch (device.fate) {
      case 'cannot':
        return false;
      case 'cannot and says so':
        return true;
      case 'leaves again':
        device.leavesAt = at + between(STAY_MS, drawFrom(device));
        break;
      case 'dies after':
      case 'dies installing':
        device.isDead = true;
        break;
      case 'fine':
        break;
    }
    device.runs = 'release';
    return false;
  }

  private nextOn(device: SimulatedDevice, at: number): number {
    const on = Math.ceil(this.week.nextOn(at, device.shiftHours, device.isOffice));
    device.wasOff = on > at;
    return on;
  }

  private draw(index: number): SimulatedDevice {
    const { seed, devices, publishedAt, trouble } = this.options;
    const id = `device ${index}`;
    const source = { state: hashText(id, seed) | 0 };
    const random = () => drawFrom(source);
    const isInvented = index >= devices;
    const firstSeen = isInvented ? this.inventedAt(index) : this.drawFirstSeen(random);
    const hasArtifact = random() >= OTHER_PLATFORM_SHARE;
    const lifeMs = (-Math.log(1 - random()) / CHURN_PER_DAY) * DAY_MS;
    const { shiftHours, isOffice } = this.week.draw(random);
    // One literal without spreads: else each device is a dictionary, which is read 20 times as slowly.
    return {
      id,
      state: hashText(id, ~seed) | 0,
      versionBefore: versionMix(random(), VERSIONS_BEFORE),
      address: random() < COMPANY_SHARE ? Math.floor(random() * COMPANIES) : COMPANIES + index,
      firstSeen,
      goneAt: Math.min(Math.floor(Math.max(publishedAt, firstSeen) + lifeMs), NEVER),
      intervalMs: drawInterval(random()) * HOUR_MS,
      shiftHours,
      isOffice,
      fate: isInvented ? (INVENTED_FATES[index % 3] as Fate) : fateOf(trouble, random()),
      isAtStart: random() < AT_START_SHARE,
      bucket: hasArtifact ? cohortBucket(hashText(id), hashText('', seed)) : COHORT_BUCKETS,
      runs: 'below',
      readyAt: NEVER,
      hasTried: false,
      leavesAt: NEVER,
      isDead: false,
      wasOff: false,
    };
  }

  /** Most devices were there long before; some came on the day before the release, and some come after it. */
  private drawFirstSeen(random: () => number): number {
    const { publishedAt, endsAt } = this.options;
    const fromMs = publishedAt - DAY_MS;
    const isNew = random() < CHURN_PER_DAY * ((endsAt - fromMs) / DAY_MS);
    const newAt = Math.floor(fromMs + random() * (endsAt - fromMs));
    return isNew ? newAt : publishedAt - LONG_KNOWN_MS;
  }

  /** Half of the invented devices were there an hour before the release, and half come an hour after it. */
  private inventedAt(index: number): number {
    return this.options.publishedAt + (index % 2 === 0 ? -HOUR_MS : HOUR_MS);
  }
}

/** Draws the time from an offer until a device is ready to install. */
function drawDelay(device: SimulatedDevice): number {
  const share = PUT_OFF_SHARES[device.versionBefore === 0 ? 0 : 1];
  return between(drawFrom(device) < share ? PUT_OFF_MS : INSTALL_MS, drawFrom(device));
}

function drawInterval(random: number): number {
  let above = random;
  for (const [hours, share] of INTERVALS) {
    if (above < share) return hours;
    above -= share;
  }
  return INTERVALS[0][0];
}

function between([shortest, longest]: readonly [number, number], random: number): number {
  return Math.floor(shortest * (longest / shortest) ** random);
}
