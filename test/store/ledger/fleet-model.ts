// Plain model of the fleet's record: what each device is, and where it last was in each hour, day and month.

import type { AdoptionPoint, AdoptionStepPoint } from '../../../src/contract/console-fleet.ts';
import type { AdoptionStep } from '../../../src/contract/resource.ts';
import type { CheckIn } from '../../../src/domain/fleet/check-in.ts';
import { USUAL_KEEPING } from '../../../src/store/ledger/fleet/check-ins.ts';
import { HOUR_MS, iso } from './fleet-fixture.ts';

type Cell = Pick<CheckIn, 'channel' | 'platform'> & { readonly version: string };
type ModelDevice = Cell &
  Pick<CheckIn, 'arch' | 'source' | 'at'> & {
    readonly firstSeen: number;
    readonly seen: Seen;
  };
/**
 * Cells in which a device counts, by hour, day and month: one, unless the ledger's clock went back to an
 * earlier one and the device came into it a second time. The last one is where the device is.
 */
type Seen = Readonly<Record<AdoptionStep, ReadonlyMap<number, readonly Cell[]>>>;

/** Ledger's clock when a check-in is recorded, and whether somebody waits for it. */
type Recording = { readonly present: number; readonly isAwaited: boolean };

/** Recording of a check-in from a queue that is older than the ledger's present. */
const QUEUED: Recording = { present: Number.POSITIVE_INFINITY, isAwaited: false };

const NEVER_SEEN: Seen = { hour: new Map(), day: new Map(), month: new Map() };

/** Record of one app. Check-ins are added in the order in which the ledger gets them, and have no labels. */
export class FleetModel {
  readonly devices = new Map<string, ModelDevice>();

  add(checkIn: CheckIn, recording: Recording = QUEUED): void {
    const stored = this.devices.get(checkIn.deviceId);
    const { present } = recording;
    const at = timeOf(checkIn, stored, recording);
    const known = stored === undefined || stored.at <= present ? stored : heal(stored, present);
    const { channel, platform, arch, source, version = known?.version ?? '' } = checkIn;
    const isNewer = known === undefined || at > known.at;
    const firstSeen = Math.min(at, known?.firstSeen ?? at);
    if (isNewer) {
      const device = { channel, platform, arch, source, at, version, firstSeen };
      if (known !== undefined && known === stored && isNoNews(known, device)) return;
      this.keep(checkIn.deviceId, device, known?.seen ?? NEVER_SEEN);
    } else if (known.version === '' && version !== '') {
      this.keep(checkIn.deviceId, { ...known, version, firstSeen }, known.seen);
    } else if (known !== stored || firstSeen < known.firstSeen) {
      this.keep(checkIn.deviceId, { ...known, firstSeen }, known.seen);
    }
  }

  fleet(): Omit<AdoptionPoint, 'hour'>[] {
    return tally([...this.devices.values()]);
  }

  adoption(): AdoptionPoint[] {
    return this.tallies('hour').map(({ at, ...cell }) => ({ hour: at, ...cell }));
  }

  /** Returns the adoption by version alone. */
  adoptionSteps(step: AdoptionStep): AdoptionStepPoint[] {
    const points = new Map<string, AdoptionStepPoint>();
    for (const { at, version, devices } of this.tallies(step)) {
      const key = `${at} ${version}`;
      const sum = (points.get(key)?.devices ?? 0) + devices;
      points.set(key, { at, version, devices: sum, isMinimum: false });
    }
    return [...points.keys()].sort().flatMap((key) => points.get(key) ?? []);
  }

  private tallies(step: AdoptionStep): (Omit<AdoptionPoint, 'hour'> & { readonly at: string })[] {
    const devices = [...this.devices.values()].map(({ seen }) => seen[step]);
    const begins = devices.flatMap((cells) => [...cells.keys()]);
    return [...new Set(begins)].sort().flatMap((begin) => {
      const cells = devices.flatMap((each) => each.get(begin) ?? []);
      return tally(cells).map((cell) => ({ at: iso(begin), ...cell }));
    });
  }

  /** Stores a device, which counts in the hour, day and month of its time as what it is now. */
  private keep(deviceId: string, device: Omit<ModelDevice, 'seen'>, seen: Seen): void {
    const { channel, platform, version, at } = device;
    const before = this.devices.get(deviceId);
    const counted = inEachStep((step) => {
      const begin = beginOf(step, at);
      const isSame = before !== undefined && beginOf(step, before.at) === begin;
      const cells = seen[step].get(begin) ?? [];
      const others = isSame ? cells.slice(0, -1) : cells;
      return new Map(seen[step]).set(begin, [...others, { channel, platform, version }]);
    });
    this.devices.set(deviceId, { ...device, seen: counted });
  }
}

/** Returns the time under which the ledger records a check-in. */
function timeOf(checkIn: CheckIn, stored: ModelDevice | undefined, recording: Recording): number {
  const { present, isAwaited } = recording;
  if (!isAwaited) return Math.min(checkIn.at, present);
  return stored !== undefined && stored.at >= present ? present + 1 : present;
}

/** Returns a device that was stored with a time in the future as it counts at present. */
function heal(stored: ModelDevice, present: number): ModelDevice {
  const seen = inEachStep((step) => {
    const begin = beginOf(step, stored.at);
    if (begin === beginOf(step, present)) return stored.seen[step];
    const cells = stored.seen[step].get(begin) ?? [];
    return new Map(stored.seen[step]).set(begin, cells.slice(0, -1));
  });
  return { ...stored, at: present, seen };
}

function isNoNews(known: ModelDevice, device: Omit<ModelDevice, 'seen'>): boolean {
  const { freshnessMs } = USUAL_KEEPING;
  const { seen, at, ...facts } = known;
  const isSoon = device.at - at < freshnessMs && beginOf('hour', device.at) === beginOf('hour', at);
  const isSame = Object.entries(facts).every(([key, value]) => Reflect.get(device, key) === value);
  return isSoon && isSame;
}

function inEachStep<Value>(of: (step: AdoptionStep) => Value): Record<AdoptionStep, Value> {
  return { hour: of('hour'), day: of('day'), month: of('month') };
}

function beginOf(step: AdoptionStep, at: number): number {
  if (step === 'hour') return Math.floor(at / HOUR_MS) * HOUR_MS;
  const date = new Date(at);
  const day = step === 'day' ? date.getUTCDate() : 1;
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), day);
}

function tally(cells: readonly Cell[]): Omit<AdoptionPoint, 'hour'>[] {
  const counts = new Map<string, number>();
  for (const { channel, version, platform } of cells) {
    const key = JSON.stringify([channel, version, platform]);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts.keys()].sort().map((key) => {
    const [channel, version, platform] = JSON.parse(key) as [string, string, string];
    return { channel, version, platform, devices: counts.get(key) ?? 0 };
  });
}
