// Parts that several kinds of processes share: labels, check-ins on their way to the engine, live activity,
// catalogs, and the admission of new devices.

import { Admission, RecordedDevices } from '../../fleet/admission.ts';
import { CheckInBuffer } from '../../fleet/check-in-buffer.ts';
import { DeviceLabels } from '../../fleet/device-labels.ts';
import { labelPolls } from '../../fleet/label-feed.ts';
import { LedgerClock } from '../../fleet/ledger-clock.ts';
import { ActivityBroadcast } from '../../fleet/live-activity.ts';
import { MistakenIds } from '../../fleet/mistaken-ids.ts';
import type { Log } from '../../observe/log.ts';
import type { Metrics } from '../../observe/metrics.ts';
import { RareLog } from '../../observe/rare-log.ts';
import { CatalogRefresher } from '../../serving/catalog-refresher.ts';
import { Catalogs } from '../../serving/catalogs.ts';
import { ChannelDirectory, pollChannelNames } from '../../serving/channel-directory.ts';
import { SharedSnapshots } from '../../serving/cold-loads.ts';
import { LedgerRecovery } from '../../serving/ledger-recovery.ts';
import type { Config } from '../../settings/settings.ts';
import type { Engine } from '../../store/engine.ts';
import { DELETED_REVISION } from '../../store/label-store.ts';
import type { Ledger, ServingLedger } from '../../store/ledger.ts';
import type { ServingStores } from './stores.ts';

/**
 * Longest wait of a stop for requests in flight: longer than the 5 s after which a store's answer is given
 * up, and short enough that the stop ends within its 9 s, of which closing the rest may take 3.
 */
export const IN_FLIGHT_WAIT_MS_MAX = 5500;
/** Longest time that a check-in is buffered before its batch is sent, in milliseconds. */
const CHECK_IN_INTERVAL_MS = 50;

export type Fleet = ReturnType<typeof assembleFleet>;

/** Assembles the fleet's part of a serving process; `counts` is the ledger for counts of mistaken ids. */
export function assembleFleet(
  config: Config,
  { ledger, engine }: Pick<ServingStores, 'ledger' | 'engine'>,
  metrics: Metrics,
  log: Log,
  counts?: Pick<Ledger, 'recordMistakenIds'>,
) {
  const admission = assembleAdmission(config, ledger, log, rememberRecorded(engine));
  const live = new ActivityBroadcast(engine, metrics, log);
  const labels = new DeviceLabels({ ledger, admission, engine, metrics });
  const polls = labelPolls(() => labels.follow(), metrics, log);
  const checkIns = new CheckInBuffer(engine, live, metrics, log);
  const mistakenIds = new MistakenIds({ metrics, ledger: counts, log: new RareLog(log) });
  metrics.gauge('sluice_check_ins_held', 'Check-ins not yet sent', () => checkIns.size);
  return {
    ...{ labels, checkIns, live, clock: new LedgerClock(ledger), mistakenIds },
    start() {
      mistakenIds.start();
      labels.start();
      polls.start();
      live.start();
      checkIns.start(CHECK_IN_INTERVAL_MS);
    },
    /** Sends all buffered check-ins to the engine: once, and again until `deadline`, a monotonic time. */
    async stop(deadline?: number) {
      live.stop();
      // A poll in progress ends when the stores are closed, at the latest.
      void polls.stop();
      await Promise.all([checkIns.stop(deadline), mistakenIds.stop()]);
    },
  };
}

/** Assembles the catalogs of a process; starts nothing. `clock` is the ledger's. */
export function assembleCatalogs(
  log: Log,
  metrics: Metrics,
  stores: ServingStores,
  clock: Pick<LedgerClock, 'now'>,
) {
  const { ledger, engine, diskSnapshots, memory, report } = stores;
  const shared = new SharedSnapshots(engine, metrics);
  const parts = { ledger, engine, diskSnapshots, shared, report, log: new RareLog(log), metrics };
  const recovery = new LedgerRecovery(parts);
  const known = new ChannelDirectory(parts);
  const catalogs = new Catalogs({ ...parts, known, recovery, memory });
  return {
    known,
    knownPoll: pollChannelNames(known),
    catalogs,
    refresher: new CatalogRefresher({
      ...{ ...parts, catalogs, known, recovery, log },
      now: () => clock.now(),
    }),
  };
}

/** Assembles the limits on new devices; `recorded` is for processes that record check-ins. */
export function assembleAdmission(
  config: Config,
  ledger: ServingLedger,
  log: Log,
  recorded?: RecordedDevices,
): Admission {
  return new Admission({
    ledger,
    bounds: {
      perNetwork: config.newDevicesPerAddressPerMinute,
      perApp: config.newDevicesPerAppPerMinute,
    },
    trustedProxies: config.trustProxy,
    log,
    ...(recorded === undefined ? {} : { recorded }),
  });
}

/** Creates a cache of recorded devices, which forgets those that the ledger has deleted. */
export function rememberRecorded(engine: Pick<Engine, 'onLabels'>): RecordedDevices {
  const recorded = new RecordedDevices();
  engine.onLabels(
    (notifications) => {
      for (const each of notifications)
        if (each.revision === DELETED_REVISION) recorded.forget(each);
    },
    () => recorded.clear(),
  );
  return recorded;
}

/** Registers the metrics of waiting check-ins, in the queue of a node or in the journal of an edge. */
export function watchQueue(
  metrics: Metrics,
  { entries, bytes, ageMs }: Record<'entries' | 'bytes' | 'ageMs', () => number>,
): void {
  metrics.gauge(
    'sluice_check_in_queue_entries',
    'Batches of check-ins that wait to be recorded',
    entries,
  );
  metrics.gauge(
    'sluice_check_in_queue_bytes',
    'Bytes of the check-ins that wait to be recorded',
    bytes,
  );
  metrics.gauge(
    'sluice_check_in_queue_seconds',
    'Age of the oldest check-in that was taken and is not recorded',
    () => Math.round(ageMs() / 100) / 10,
  );
}
