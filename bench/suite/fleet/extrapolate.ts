// Scales what a played fleet cost to fleets of other sizes. Everything but the fixed part of Redis' memory is
// taken as proportional to checks or to devices, which a run of one size cannot prove.

/** Seconds between two checks of a device in the fleets that are extrapolated to. */
export const INTERVAL_SECONDS = 300;

/** What one check cost, measured. */
export type CheckCost = {
  /** CPU of the processes that serve. */
  readonly serviceUs: number;
  /** CPU of the process that records check-ins. */
  readonly backgroundUs: number;
  readonly redisUs: number;
  readonly postgresUs: number;
  /** Time for which the one process that records is taken: its own CPU, and that it waits for stores. */
  readonly recordingUs: number;
  readonly walBytes: number;
  readonly connections: number;
  /** Memory of Redis before any device asked. */
  readonly redisFixedBytes: number;
  /** Further memory of Redis at most, for each check a second. */
  readonly redisBytesByRate: number;
};

/** What a fleet of some size needs. CPU is in cores. */
export type FleetNeed = {
  readonly devices: number;
  readonly checksPerSecond: number;
  readonly service: number;
  readonly background: number;
  readonly redis: number;
  readonly postgres: number;
  /** Share of the time for which recording is busy; above 1 it does not keep up. */
  readonly recording: number;
  readonly walBytesPerSecond: number;
  readonly connectionsPerSecond: number;
  readonly deviceBytes: number;
  readonly redisBytes: number;
};

/** Resource that there is one of, and the fleet size that uses it up. */
export type Limit = {
  readonly name: string;
  readonly checksPerSecond: number;
  readonly devices: number;
};

/** Returns what a fleet of this size needs, every device asking every five minutes. */
export function extrapolate(cost: CheckCost, bytesPerDevice: number, devices: number): FleetNeed {
  const checksPerSecond = devices / INTERVAL_SECONDS;
  const cores = (us: number) => (us * checksPerSecond) / 1e6;
  return {
    devices,
    checksPerSecond,
    service: cores(cost.serviceUs),
    background: cores(cost.backgroundUs),
    redis: cores(cost.redisUs),
    postgres: cores(cost.postgresUs),
    recording: cores(cost.recordingUs),
    walBytesPerSecond: cost.walBytes * checksPerSecond,
    connectionsPerSecond: cost.connections * checksPerSecond,
    deviceBytes: bytesPerDevice * devices,
    redisBytes: cost.redisFixedBytes + cost.redisBytesByRate * checksPerSecond,
  };
}

/**
 * Returns the resources in the order in which growing fleets use them up. What the system does not tell the
 * cost of is left out.
 */
export function limitsOf(cost: CheckCost): Limit[] {
  const costs: readonly (readonly [string, number])[] = [
    ['the one process that records check-ins', cost.recordingUs],
    ['one core of one serving process', cost.serviceUs],
    ['the one core of Redis', cost.redisUs],
  ];
  return costs
    .filter(([, us]) => us > 0)
    .map(([name, us]) => ({
      name,
      checksPerSecond: 1e6 / us,
      devices: (1e6 / us) * INTERVAL_SECONDS,
    }))
    .sort((left, right) => left.devices - right.devices);
}
