// What tells of the fleet while it is served: the labels of devices, their check-ins on the way to the
// engine, and the live feed.

import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { CheckIns } from '../operations/check-ins.ts';
import { DeviceLabels } from '../operations/device-labels.ts';
import { LiveFeed } from '../operations/live-feed.ts';
import type { Stores } from './stores.ts';

export type Fleet = {
  readonly labels: DeviceLabels;
  readonly checkIns: CheckIns;
  readonly live: LiveFeed;
  start(): void;
  /** Hands the engine what is held. */
  stop(): Promise<void>;
};

/** How long a check-in waits for company before it is sent. */
const CHECK_IN_INTERVAL_MS = 50;

/** Puts the serving side of the fleet together. */
export function assembleFleet({ ledger, engine }: Stores, metrics: Metrics, log: Log): Fleet {
  const live = new LiveFeed(engine, metrics, log);
  const labels = new DeviceLabels({ ledger, engine, metrics, log });
  const checkIns = new CheckIns(engine, live, metrics, log);
  metrics.gauge('sluice_check_ins_held', 'Check-ins not yet sent', () => checkIns.size);
  return {
    labels,
    checkIns,
    live,
    start() {
      labels.start();
      live.start();
      checkIns.start(CHECK_IN_INTERVAL_MS);
    },
    async stop() {
      live.stop();
      await checkIns.stop();
    },
  };
}
