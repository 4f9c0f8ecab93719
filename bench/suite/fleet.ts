// Plays a fleet as it is, at many times real time: devices with stable ids and a mix of versions, which ask
// every five minutes, sleep at night, try again when something fails, and install what they are offered.

import { type Benchmark, type Given, numberOption, Refusal } from '../benchmark.ts';
import { fleetReport } from './fleet/fleet-report.ts';
import { type FleetSettings, measureFleet } from './fleet/measure-fleet.ts';

/** Settings for two cores; a quicker clock would need a freshness below the shortest that there is. */
const USUAL: FleetSettings = { devices: 40_000, speed: 30, duration: 60, warmupIntervals: 2 };
const SMOKE: FleetSettings = { devices: 2000, speed: 100, duration: 1, warmupIntervals: 0.5 };

export const fleet: Benchmark = {
  name: 'fleet',
  title: 'devices as they are, at many times real time, on one node',
  options: [
    numberOption('--devices <n>', 'size of the fleet, 40000 unless given', 100, 1_000_000),
    numberOption('--speed <n>', 'times real time, 30 unless given', 10, 100),
    numberOption('--duration <seconds>', 'measured time, 60 unless given', 10, 600),
  ],
  reading: [
    'service, background: the processes that serve, and the one that records check-ins; us: CPU per check.',
    'recording: time of that one process per check, its CPU and the waits of its two drains for the stores,',
    'which they do at once; at 100 % of a second it falls behind. rows written: device rows per check.',
    'Each has a connection of its own. measured: the load of the run; scaled: less, extrapolated: more.',
  ],
  run: async (given) => fleetReport(await measureFleet(fleetSettings(given))),
};

export function fleetSettings({ options, isSmoke }: Given): FleetSettings {
  if (!isSmoke) return { ...USUAL, ...options };
  if (Object.keys(options).length > 0) throw new Refusal('--smoke has a fleet of its own');
  return SMOKE;
}
