// Devices of the demo: what they are, how soon they install an offer, and what becomes of a few of them.

import { seededRandom } from '../bench/random.ts';
import { BAD_VERSION, HOUR_MS } from './demo-releases.ts';

/** What the bad release does to a device; none installs it, and stays well. */
type Fate = 'fails' | 'leaves' | 'dies';

/** A gateway that fails to install, one that waits for its operator, one that takes its time. */
export type Habit = 'fails' | 'waits' | 'dawdles';

export type DemoDevice = {
  readonly id: string;
  readonly channel: string;
  readonly platform: string;
  readonly arch: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Hours from the offer of an update until the device installs it. */
  readonly lagHours: number;
  /** Share of the hours in which it asks. */
  readonly hourlyShare: number;
  readonly fate: Fate | undefined;
  /** What a gateway does with what it is told to install; most install it. */
  readonly habit?: Habit | undefined;
  version: string;
  /** Offer that it has not installed yet. */
  offer?: { readonly version: string; readonly atMs: number } | undefined;
  /** When it installed the bad release, and the version that it had before. */
  installedBad?: { readonly from: string; readonly atMs: number };
};

const SEED = 20_261_120;
const STABLE_DEVICES = 3000;
const BETA_DEVICES = 800;
/** Hours on the bad release after which a device goes back. */
const LEAVES_AFTER_HOURS = 5;

/** Makes the fleet, the same one each time. */
export function createDevices(): DemoDevice[] {
  const random = seededRandom(SEED);
  return [
    ...Array.from({ length: STABLE_DEVICES }, () => ({
      ...machineOf(random),
      ...{ channel: 'stable', hourlyShare: 1 / 8, fate: undefined },
      // Most install within the day, a few much later: an update waits until the app is restarted.
      lagHours: -Math.log(1 - random()) * (random() < 0.05 ? 36 : 6),
      version: random() < 0.15 ? '2.1.0' : '2.2.0',
    })),
    ...Array.from({ length: BETA_DEVICES }, () => {
      const machine = machineOf(random);
      return {
        ...machine,
        ...{ channel: 'beta', hourlyShare: 1 / 2, fate: fateOf(machine.platform, random()) },
        lagHours: -Math.log(1 - random()) * (random() < 0.03 ? 18 : 2),
        version: '2.4.0-beta.1',
      };
    }),
  ];
}

/** Tells whether a device will never install this version. */
export function refuses({ fate, installedBad }: DemoDevice, version: string): boolean {
  return version === BAD_VERSION && (fate === 'fails' || installedBad !== undefined);
}

/** Tells whether a device does not ask any more. */
export function isDead({ fate, installedBad }: DemoDevice): boolean {
  return fate === 'dies' && installedBad !== undefined;
}

/** Installs what the device was offered long enough ago, and goes back from what it does not bear. */
export function comeTo(device: DemoDevice, atMs: number): void {
  const { offer, installedBad, lagHours } = device;
  if (offer !== undefined && atMs - offer.atMs > lagHours * HOUR_MS) {
    if (refuses(device, offer.version)) return;
    device.offer = undefined;
    if (offer.version === BAD_VERSION) device.installedBad = { from: device.version, atMs };
    device.version = offer.version;
    return;
  }
  if (device.fate !== 'leaves' || installedBad === undefined) return;
  const hoursOn = (atMs - installedBad.atMs) / HOUR_MS;
  if (device.version === BAD_VERSION && hoursOn > LEAVES_AFTER_HOURS) {
    device.version = installedBad.from;
  }
}

/** The new installer of the bad release fails on many Windows machines. */
function fateOf(platform: string, dice: number): Fate | undefined {
  if (platform === 'windows' && dice < 0.45) return 'fails';
  if (dice > 0.98) return 'leaves';
  return dice > 0.965 ? 'dies' : undefined;
}

function machineOf(random: () => number) {
  const [platform, arch] = pick(random, [
    [0.45, ['darwin', 'aarch64']],
    [0.4, ['windows', 'x86_64']],
    [0.15, ['linux', 'x86_64']],
  ]) as [string, string];
  const region = pick(random, [
    [0.5, 'eu'],
    [0.35, 'us'],
    [0.15, 'ap'],
  ]);
  const ring = random() < 0.06 ? { ring: 'early' } : {};
  return { id: deviceIdOf(random), platform, arch, labels: { region, ...ring } };
}

function pick<Value>(random: () => number, choices: readonly (readonly [number, Value])[]): Value {
  let left = random();
  for (const [share, value] of choices) {
    left -= share;
    if (left < 0) return value;
  }
  return (choices.at(-1) as readonly [number, Value])[1];
}

/** Random UUID of version 4. */
function deviceIdOf(random: () => number): string {
  const hex = Array.from({ length: 32 }, () => Math.floor(random() * 16).toString(16)).join('');
  return hex.replace(/(.{8})(.{4}).(.{3}).(.{3})/, '$1-$2-4$3-a$4-');
}
