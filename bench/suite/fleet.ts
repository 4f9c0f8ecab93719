// Plays a fleet as it is, at many times real time: devices with stable ids and a mix of versions, which ask
// every five minutes, sleep at night, try again when something fails, and install what they are offered. It
// tells what an operator has to plan with, and what ends first in larger fleets.

import type { Benchmark } from './benchmark.ts';
import { fleetReport } from './fleet/fleet-report.ts';
import { FLEET_SMOKE, FLEET_USUAL } from './fleet/fleet-settings.ts';
import { measureFleet } from './fleet/measure-fleet.ts';

export const fleet: Benchmark = {
  name: 'fleet',
  title: 'devices as they are, at many times real time (one node, PostgreSQL with fsync, Redis)',
  explanation: [
    'service, background: the processes that serve, and the one that records check-ins; us: CPU per check.',
    'recording: time of that one process per check, its CPU and the waits of its two drains for the stores,',
    'which they do at once; at 100 % of a second it falls behind. rows written: device rows per check.',
    'A check has a connection of its own.',
    'measured: the load of the run; scaled: less than that, extrapolated: more, all in proportion.',
  ],
  async run({ isSmoke, fleet: given }) {
    return fleetReport(await measureFleet(isSmoke ? FLEET_SMOKE : (given ?? FLEET_USUAL)));
  },
};
