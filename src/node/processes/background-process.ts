// The background work, which no request waits for: records check-ins, drives plans, sends notifications and
// mails, and deletes old rows. It runs in the serving process, or in its own process, where it does not slow
// serving.

import { actionFeed } from '../../fleet/action-feed.ts';
import { CheckInDrain, QueueLength, StreamShare } from '../../fleet/check-in-drain.ts';
import { DeviceLabels } from '../../fleet/device-labels.ts';
import { sweeps } from '../../fleet/fleet-sweeper.ts';
import { LabelFeed, labelPolls } from '../../fleet/label-feed.ts';
import { ClockWatch, LedgerClock } from '../../fleet/ledger-clock.ts';
import { RecordMemory } from '../../fleet/record-cache.ts';
import type { Log } from '../../observe/log.ts';
import type { Metrics } from '../../observe/metrics.ts';
import { RareLog } from '../../observe/rare-log.ts';
import { PlanDriver, watchPlans } from '../../publishing/plan-driver.ts';
import { createPropagateChange, type PropagateChange } from '../../publishing/propagate-change.ts';
import { guardChanges } from '../../serving/guard-changes.ts';
import type { Config } from '../../settings/settings.ts';
import type { Ledger } from '../../store/ledger.ts';
import { assembleDeliveries } from '../assemble/deliveries.ts';
import { Secrets } from '../assemble/secrets.ts';
import {
  assembleAdmission,
  assembleCatalogs,
  type Fleet,
  rememberRecorded,
  watchQueue,
} from '../assemble/shared-parts.ts';
import { reloadable, type Stores } from '../assemble/stores.ts';
import { watchStores } from '../assemble/watch-stores.ts';

/** Longest last drain, in milliseconds: a stop may take 10 s, and the stores still have to close. */
const DRAIN_WAIT_MS_MAX = 1500;
/** Drains per process, each with a PostgreSQL connection: as many as a small machine has cores. */
export const DRAINS = 2;

/** Starts a process that does only background work, with its own stores. */
export async function composeBackground(
  config: Config,
  log: Log,
  metrics: Metrics,
): Promise<{ reload(config: Config): Promise<void>; stop(): Promise<void> }> {
  const stores = await watchStores({ config, log, metrics, holder: 'background' });
  const admission = assembleAdmission(config, stores.ledger, log);
  const labels = new DeviceLabels({ ...stores, admission, metrics });
  const clock = new LedgerClock(stores.ledger);
  const clockWatch = new ClockWatch({ clock, metrics, log, isTelling: true });
  await clockWatch.start();
  const { catalogs, refresher, knownPoll } = assembleCatalogs(log, metrics, stores, clock);
  const rareLog = new RareLog(log);
  const now = () => clock.now();
  const propagate = createPropagateChange(catalogs, stores.engine, metrics, rareLog, now);
  const secrets = new Secrets(config);
  const background = assembleBackground(config, log, metrics, stores, {
    ...{ labels, clock, secrets },
    changes: { ledger: guardChanges(stores.ledger, catalogs), propagate },
  });
  refresher.start(stores.engine);
  knownPoll.start(stores.engine);
  background.start();
  return {
    reload: reloadable(log, [secrets, background, stores]),
    async stop() {
      await background.stop();
      clockWatch.stop();
      await Promise.all([refresher.stop(), knownPoll.stop()]);
      await stores.engine.close();
      await stores.ledger.close();
    },
  };
}

type BackgroundParts = Pick<Fleet, 'labels' | 'clock'> & {
  /** Ledger and propagation with which plans change releases, the same as for calls of clients. */
  readonly changes: { readonly ledger: Ledger; readonly propagate: PropagateChange };
  readonly secrets: Secrets;
};

/** Assembles the background work for the process that runs it. */
export function assembleBackground(
  config: Config,
  log: Log,
  metrics: Metrics,
  { ledger, engine }: Stores,
  { labels, clock, changes, secrets }: BackgroundParts,
) {
  const admission = assembleAdmission(config, ledger, log, rememberRecorded(engine));
  const share = new StreamShare(engine, metrics, log);
  const memory = new RecordMemory(share.taker, ledger, config.deviceFreshnessSeconds * 1000);
  const count = Math.min(DRAINS, engine.streams);
  const drains = Array.from({ length: count }, (_, index) => {
    const streams = () => share.streamsOf(index, count);
    return new CheckInDrain({
      ...{ queue: engine, admission, memory, streams, labels, clock, metrics, log },
    });
  });

  const length = new QueueLength(engine);
  watchQueue(metrics, {
    entries: () => length.entries,
    bytes: () => length.bytes,
    ageMs: () => Math.max(...drains.map(({ behindMs }) => behindMs)),
  });
  const retention = {
    devicesDays: config.deviceRetentionDays,
    hoursDays: config.adoptionRetentionDays,
    auditDays: config.auditDays,
  };
  const sweeper = sweeps(ledger, retention, metrics, log);
  const feed = new LabelFeed({ ledger, engine, log });
  const labelFeed = labelPolls(() => feed.feed(), metrics, log);
  const actions = actionFeed({ ledger, engine, metrics, log });
  const connectionsMax = Math.floor(config.databasePool / 2);
  const plans = new PlanDriver({ ...changes, queue: engine, connectionsMax, metrics, log });
  const deliveries = assembleDeliveries(config, log, metrics, ledger, secrets);
  const planWatch = watchPlans({ ledger, metrics, log });
  return {
    /** Uses the settings that may change at run time. */
    use: async (changed: Config) => deliveries.use(changed),
    start() {
      plans.start();
      deliveries.start();
      planWatch.start();
      share.start();
      for (const drain of drains) drain.start();
      length.start();
      labelFeed.start();
      actions.start();
      sweeper.start();
    },
    /** Stops within seconds. Drains a memory engine into the ledger, as the engine ends with the process. */
    async stop() {
      void planWatch.stop();
      await Promise.all([plans.stop(), deliveries.stop()]);
      void labelFeed.stop();
      void actions.stop();
      await sweeper.stop();
      void length.stop();
      const end = (drain: CheckInDrain) =>
        config.redisUrl === undefined ? drain.finish(DRAIN_WAIT_MS_MAX) : drain.stop();
      await Promise.all(drains.map(end));
      await share.stop();
    },
  };
}
