// The work that nobody waits for: check-ins into the ledger, and the sweep of what is old. It runs beside
// serving in one process, or in a process of its own so that serving is not slowed.

import { CheckInDrain } from '../background/check-in-drain.ts';
import { FleetSweeper } from '../background/fleet-sweeper.ts';
import type { Config } from '../config.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { DeviceLabels } from '../operations/device-labels.ts';
import { openStores, type Stores } from './stores.ts';

export type Background = {
  start(): void;
  /** Ends soon; an engine that ends with this process is first emptied into the ledger. */
  stop(): Promise<void>;
};

/** Leaves room below the 10 s that a stop may take for the stores to close. */
const DRAIN_WAIT_MS_MAX = 1500;

/** Starts the background work of a process that does nothing else, with stores of its own. */
export async function composeBackground(
  config: Config,
  log: Log,
  metrics: Metrics,
): Promise<{ stop(): Promise<void> }> {
  const stores = await openStores(config, log);
  const labels = new DeviceLabels({ ...stores, metrics, log });
  const background = assembleBackground(config, log, metrics, stores, labels);
  background.start();
  return {
    async stop() {
      await background.stop();
      labels.stop();
      await stores.engine.close();
      await stores.ledger.close();
    },
  };
}

/** Puts the background work together, for whichever process runs it. */
export function assembleBackground(
  config: Config,
  log: Log,
  metrics: Metrics,
  { ledger, engine }: Stores,
  labels: DeviceLabels,
): Background {
  const drain = new CheckInDrain({ queue: engine, ledger, labels, metrics, log });
  const retention = {
    devicesDays: config.deviceRetentionDays,
    hoursDays: config.adoptionRetentionDays,
  };
  const sweeper = new FleetSweeper(ledger, retention, metrics, log);
  return {
    start() {
      drain.start();
      sweeper.start();
    },
    async stop() {
      await sweeper.stop();
      if (config.redisUrl === undefined) await drain.finish(DRAIN_WAIT_MS_MAX);
      else await drain.stop();
    },
  };
}
