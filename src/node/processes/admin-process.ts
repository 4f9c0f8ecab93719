// The admin process: serves the console, its API, metrics and health on a separate address, so that they
// answer while a serving process hangs.

import { DeviceLabels } from '../../fleet/device-labels.ts';
import { ClockWatch, LedgerClock } from '../../fleet/ledger-clock.ts';
import { ActivityBroadcast } from '../../fleet/live-activity.ts';
import {
  healthRoutes,
  type ReadinessProbe,
  type ReadMetrics,
} from '../../http/api/health-routes.ts';
import { NotesRenderer } from '../../http/notes/notes-renderer.ts';
import type { HttpEngine } from '../../http/transport/engine.ts';
import { Traffic } from '../../http/transport/request-observation.ts';
import { createRouter } from '../../http/transport/router.ts';
import { startServer } from '../../http/transport/server.ts';
import type { Log } from '../../observe/log.ts';
import type { Metrics } from '../../observe/metrics.ts';
import { RareLog } from '../../observe/rare-log.ts';
import {
  createPropagateChange,
  propagateInNode,
  type TellNode,
} from '../../publishing/propagate-change.ts';
import { ReleaseRetries } from '../../publishing/release-retries.ts';
import { Webhooks } from '../../publishing/webhooks.ts';
import { EffectMeter } from '../../serving/dry-run-effect.ts';
import { ExplainDecision } from '../../serving/explain-decision.ts';
import { guardChanges } from '../../serving/guard-changes.ts';
import { StandingReader } from '../../serving/read-standings.ts';
import { type Config, reachableHost } from '../../settings/settings.ts';
import { createMemoryEngine } from '../../store/memory/memory-engine.ts';
import { assembleChanges, assembleConsole, assembleReference } from '../assemble/console-side.ts';
import { assembleActions } from '../assemble/ddi-side.ts';
import { assembleConnectionLimit, requestWatcher } from '../assemble/observe-requests.ts';
import { Secrets } from '../assemble/secrets.ts';
import { assembleAdmission, assembleCatalogs } from '../assemble/shared-parts.ts';
import { fromSetting, reloadable, type Stores } from '../assemble/stores.ts';
import { watchStores } from '../assemble/watch-stores.ts';

export type AdminOptions = {
  /** HTTP engine that the node has chosen. */
  readonly engine: HttpEngine;
  readonly metrics: Metrics;
  /** Reads the text of `/metrics`. */
  readonly readMetrics: ReadMetrics;
  /** Reads whether a serving process of the node can decide, for `/readyz`. */
  readonly readiness: ReadinessProbe;
  /** Sends changes to the serving processes of the node. */
  readonly tellNode: TellNode;
  /** Port to listen on, at the host of ADMIN_LISTEN. */
  readonly port: number;
  /** Port of the serving processes. */
  readonly servicePort: number;
};

/** Longest wait of a stop for requests in flight, in milliseconds. */
const IN_FLIGHT_WAIT_MS_MAX = 3000;

/** Stands for the first offers in a process that offers nothing. */
const NO_OFFERS = { excludedIn: () => new Set<string>() };

/** Starts the process; rejects when it cannot listen on the address, or a store refuses its setting. */
export async function composeAdmin(
  config: Config,
  log: Log,
  options: AdminOptions,
): Promise<{ reload(config: Config): Promise<void>; stop(): Promise<void> }> {
  const stores = await watchStores({
    config,
    log,
    metrics: options.metrics,
    holder: 'admin',
  });
  const secrets = new Secrets(config);
  const clock = new LedgerClock(stores.ledger);
  const clockWatch = new ClockWatch({ clock, metrics: options.metrics, log, isTelling: false });
  await clockWatch.start();
  const parts = assembleAdmin(config, log, options, { ...stores, secrets, clock });
  const { refresher, knownPoll, live, notes, traffic, router, unstored } = parts;
  refresher.start(stores.engine);
  knownPoll.start(stores.engine);
  const server = await fromSetting('ADMIN_LISTEN', () =>
    startServer({
      engine: options.engine,
      host: config.adminListen?.host ?? config.host,
      port: options.port,
      isPortShared: false,
      connectionLimit: assembleConnectionLimit(options.metrics, log),
      direct: {},
      router,
    }),
  );
  live.start();
  unstored.start();
  return {
    reload: reloadable(log, [secrets, stores]),
    async stop() {
      server.stopAccepting();
      await traffic.drain(IN_FLIGHT_WAIT_MS_MAX);
      server.close();
      live.stop();
      clockWatch.stop();
      await Promise.all([refresher.stop(), knownPoll.stop(), unstored.stop()]);
      await notes.stop();
      await stores.engine.close();
      await stores.ledger.close();
    },
  };
}

type AdminParts = Stores & { readonly secrets: Secrets; readonly clock: LedgerClock };

function assembleAdmin(config: Config, log: Log, options: AdminOptions, stores: AdminParts) {
  const { metrics, readMetrics, readiness, tellNode, servicePort } = options;
  const { engine, secrets, clock } = stores;
  const rareLog = new RareLog(log);
  const { catalogs, refresher, knownPoll } = assembleCatalogs(log, metrics, stores, clock);
  const ledger = guardChanges(stores.ledger, catalogs);
  const live = new ActivityBroadcast(engine, metrics, log);
  const admission = assembleAdmission(config, ledger, log);
  const labels = new DeviceLabels({ ledger, admission, engine, metrics });
  const address = config.publicUrl ?? `http://${reachableHost(config.host)}:${servicePort}`;
  const notes = new NotesRenderer();
  const explainer = new ExplainDecision({ ledger, catalogs, labels, firstOffers: NO_OFFERS });
  const propagate = propagateInNode(
    createPropagateChange(catalogs, engine, metrics, rareLog, () => clock.now()),
    tellNode,
  );
  const { unstored, actions } = assembleActions({ stores, log, metrics, clock });
  const changing = assembleChanges({
    ...{ config, ledger, catalogs, propagate },
    ...{ effects: new EffectMeter(ledger), address: () => address },
  });
  const traffic = new Traffic(log, metrics, requestWatcher(config, log));
  const routes = [
    ...healthRoutes(readiness),
    ...assembleReference(() => address),
    ...assembleConsole({
      ...{ config, secrets, ledger, labels, explainer, live, notes, readMetrics },
      standings: new StandingReader(ledger, catalogs),
      copies: stores.copies,
      limits: { engine, alone: createMemoryEngine(), metrics },
      log: rareLog,
      address: () => address,
      webhooks: new Webhooks({ ledger, box: secrets.box, address: () => address, log: rareLog }),
      ...changing,
      retries: new ReleaseRetries({ ledger, changes: changing.changes, actions }),
      propagate,
    }),
  ];
  const router = createRouter(routes, traffic);
  return { refresher, knownPoll, live, notes, traffic, router, unstored };
}
