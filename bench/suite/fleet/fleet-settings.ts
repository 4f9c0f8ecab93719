// Settings of the fleet simulator, and what follows from the speed of its clock for those of the service.

export type FleetArguments = {
  readonly devices: string | undefined;
  readonly speed: string | undefined;
  readonly duration: string | undefined;
};

export type FleetSettings = {
  readonly devices: number;
  /** Virtual seconds in a real one. */
  readonly speed: number;
  /** Length of the measured time in real seconds. */
  readonly seconds: number;
  /**
   * Intervals between two checks in which the fleet is met before: all have asked in one, and what they left
   * is recorded in another.
   */
  readonly warmupIntervals: number;
};

/**
 * Settings without options, for two cores: 4,000 checks a second when all devices are awake, as of 1.2
 * million devices in real time. A quicker clock would need a freshness below the shortest that there is.
 */
export const FLEET_USUAL: FleetSettings = {
  devices: 40_000,
  speed: 30,
  seconds: 60,
  warmupIntervals: 2,
};
export const FLEET_SMOKE: FleetSettings = {
  devices: 2000,
  speed: 100,
  seconds: 1,
  warmupIntervals: 0.5,
};

const BOUNDS = {
  devices: [100, 1_000_000],
  speed: [10, 100],
  seconds: [10, 600],
} as const;
const OPTIONS = { devices: 'devices', speed: 'speed', seconds: 'duration' } as const;

/** Returns the settings, or the reason in one line why they are refused. */
export function readFleetSettings(given: FleetArguments): FleetSettings | string {
  const settings = { ...FLEET_USUAL };
  for (const name of ['devices', 'speed', 'seconds'] as const) {
    const option = OPTIONS[name];
    const text = given[option];
    if (text === undefined) continue;
    const [least, most] = BOUNDS[name];
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= least && value <= most)) {
      return `--${option}: must be a whole number from ${least} to ${most}`;
    }
    Object.assign(settings, { [name]: value });
  }
  return settings;
}

/** Freshness of device rows as installed, and the shortest that the service takes, in seconds. */
const FRESHNESS_SECONDS = 300;
const FRESHNESS_SECONDS_MIN = 10;

/**
 * Returns `DEVICE_FRESHNESS_SECONDS` for a clock of this speed, and how many virtual seconds that is: more
 * than as installed where the service takes no shorter one.
 */
export function freshnessAt(speed: number): { readonly seconds: number; readonly virtual: number } {
  const seconds = Math.max(FRESHNESS_SECONDS_MIN, Math.round(FRESHNESS_SECONDS / speed));
  return { seconds, virtual: seconds * speed };
}
