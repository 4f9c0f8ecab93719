// Plain model of the fleet's record: what each device is, and where it last was in each hour.

import type { AdoptionPoint } from '../../src/contract/console-fleet.ts';
import type { CheckIn } from '../../src/domain/fleet/check-in.ts';
import { HOUR_MS, iso, MINUTE_MS } from './fleet-fixture.ts';

type Cell = Pick<CheckIn, 'channel' | 'platform'> & { readonly version: string };
type ModelDevice = Cell &
  Pick<CheckIn, 'arch' | 'source' | 'at'> & {
    readonly firstSeen: number;
    /**
     * Cells in which the device counts, by hour: one, unless the ledger's clock went back by an hour and
     * the device came into that hour a second time. The last one is where the device is.
     */
    readonly hours: Map<number, Cell[]>;
  };

/** Ledger's clock when a check-in is recorded, and whether somebody waits for it. */
type Recording = { readonly present: number; readonly isAwaited: boolean };

/** Recording of a check-in from a queue that is older than the ledger's present. */
const QUEUED: Recording = { present: Number.POSITIVE_INFINITY, isAwaited: false };

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
      this.keep(checkIn.deviceId, device, known?.hours ?? new Map());
    } else if (known.version === '' && version !== '') {
      this.keep(checkIn.deviceId, { ...known, version, firstSeen }, known.hours);
    } else if (known !== stored || firstSeen < known.firstSeen) {
      this.keep(checkIn.deviceId, { ...known, firstSeen }, known.hours);
    }
  }

  fleet(): Omit<AdoptionPoint, 'hour'>[] {
    return tally([...this.devices.values()]);
  }

  adoption(): AdoptionPoint[] {
    const hours = [...this.devices.values()].flatMap((device) => [...device.hours.keys()]);
    return [...new Set(hours)].sort().flatMap((hour) => {
      const cells = [...this.devices.values()].flatMap((device) => device.hours.get(hour) ?? []);
      return tally(cells).map((cell) => ({ hour: iso(hour), ...cell }));
    });
  }

  /** Stores a device, which counts in the hour of its time as what it is now. */
  private keep(
    deviceId: string,
    device: Omit<ModelDevice, 'hours'>,
    hours: ModelDevice['hours'],
  ): void {
    const { channel, platform, version, at } = device;
    const before = this.devices.get(deviceId);
    const isSameHour = before !== undefined && hourOf(before.at) === hourOf(at);
    const cells = hours.get(hourOf(at)) ?? [];
    const others = isSameHour ? cells.slice(0, -1) : cells;
    hours.set(hourOf(at), [...others, { channel, platform, version }]);
    this.devices.set(deviceId, { ...device, hours });
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
  const hours = new Map(stored.hours);
  const hour = hourOf(stored.at);
  if (hour !== hourOf(present)) hours.set(hour, (hours.get(hour) ?? []).slice(0, -1));
  return { ...stored, at: present, hours };
}

function isNoNews(known: ModelDevice, device: Omit<ModelDevice, 'hours'>): boolean {
  const { hours, at, ...facts } = known;
  const isSoon = device.at - at < 5 * MINUTE_MS && hourOf(device.at) === hourOf(at);
  const isSame = Object.entries(facts).every(([key, value]) => Reflect.get(device, key) === value);
  return isSoon && isSame;
}

function hourOf(at: number): number {
  return Math.floor(at / HOUR_MS) * HOUR_MS;
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
