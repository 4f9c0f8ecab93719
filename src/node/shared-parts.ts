// Assembly of the serving side of the fleet: the labels of devices, their check-ins on the way to the engine,
// and the live activity for the console.

import { CheckIns } from '../fleet/check-in-buffer.ts';
import { DeviceLabels } from '../fleet/device-labels.ts';
import { LabelRefresher } from '../fleet/label-feed.ts';
import { LedgerClock } from '../fleet/ledger-clock.ts';
import { ActivityBroadcast } from '../fleet/live-activity.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Config } from '../settings/settings.ts';
import { assembleAdmission, rememberRecorded } from './assemble-admission.ts';
import type { ServingStores } from './stores.ts';

export type Fleet = {
  readonly labels: DeviceLabels;
  readonly checkIns: CheckIns;
  readonly live: ActivityBroadcast;
  readonly clock: LedgerClock;
  start(): void;
  /** Sends all buffered check-ins to the engine. */
  stop(): Promise<void>;
};

/** Maximum time in milliseconds that a check-in is buffered before its batch is sent. */
const CHECK_IN_INTERVAL_MS = 50;

/** Builds the serving side of the fleet. */
export function assembleFleet(
  config: Config,
  { ledger, engine }: Pick<ServingStores, 'ledger' | 'engine'>,
  metrics: Metrics,
  log: Log,
): Fleet {
  const admission = assembleAdmission(config, ledger, log, rememberRecorded(engine));
  const live = new ActivityBroadcast(engine, metrics, log);
  const labels = new DeviceLabels({ ledger, admission, engine, metrics, log });
  const labelRefresher = new LabelRefresher(() => labels.follow(), metrics, log);
  const checkIns = new CheckIns(engine, live, metrics, log);
  metrics.gauge('sluice_check_ins_held', 'Check-ins not yet sent', () => checkIns.size);
  return {
    labels,
    checkIns,
    live,
    clock: new LedgerClock(ledger),
    start() {
      labels.start();
      labelRefresher.start();
      live.start();
      checkIns.start(CHECK_IN_INTERVAL_MS);
    },
    async stop() {
      live.stop();
      labelRefresher.stop();
      await checkIns.stop();
    },
  };
}
