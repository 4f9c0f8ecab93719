// Plain model of the fleet's record: what each device is, and where it last was in each hour.

import type { AdoptionPoint } from '../../src/contract/console.ts';
import type { CheckIn } from '../../src/domain/fleet/check-in.ts';
import { HOUR_MS, iso, MINUTE_MS } from './fleet-fixture.ts';

type Cell = Pick<CheckIn, 'channel' | 'platform'> & { readonly version: string };
type ModelDevice = Cell &
  Pick<CheckIn, 'arch' | 'source' | 'at'> & { readonly hours: Map<number, Cell> };

/** Record of one app. Check-ins are added in the order in which the ledger gets them, and have no labels. */
export class FleetModel {
  readonly devices = new Map<string, ModelDevice>();

  add(checkIn: CheckIn): void {
    const known = this.devices.get(checkIn.deviceId);
    const { channel, platform, arch, source, at, version = known?.version ?? '' } = checkIn;
    if (known === undefined || at > known.at) {
      const device = { channel, platform, arch, source, at, version };
      if (known !== undefined && isNoNews(known, device)) return;
      const hours = known?.hours ?? new Map<number, Cell>();
      this.devices.set(checkIn.deviceId, { ...device, hours });
      hours.set(hourOf(at), { channel, platform, version });
    } else if (known.version === '' && version !== '') {
      this.devices.set(checkIn.deviceId, { ...known, version });
      known.hours.set(hourOf(known.at), { ...known, version });
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
