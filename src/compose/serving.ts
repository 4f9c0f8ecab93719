// Assembly of everything that answers requests, from the routes down to the operations.

import { fileURLToPath } from 'node:url';
import type { CatalogRefresher } from '../background/catalog-refresher.ts';
import type { KnownChannelsPoll } from '../background/known-channels-poll.ts';
import type { Config } from '../config.ts';
import { createMemoryEngine } from '../engine/memory/memory-engine.ts';
import { DeviceGate } from '../http/device/device-gate.ts';
import type { DeviceRouteDependencies } from '../http/device/device-route.ts';
import { directHandlers } from '../http/device/direct-handlers.ts';
import { downloadRoutes } from '../http/device/download-routes.ts';
import { failureRoute } from '../http/device/failure-route.ts';
import { packageRoute } from '../http/device/package-route.ts';
import { type UpdaterRoute, updaterRoute } from '../http/device/updater-route.ts';
import { healthRoutes, type ReadMetrics } from '../http/health-routes.ts';
import { fleetRoutes } from '../http/manage/fleet-routes.ts';
import { manageRoutes } from '../http/manage/manage-routes.ts';
import { planRoutes } from '../http/manage/plan-routes.ts';
import { readingRoutes } from '../http/manage/reading-routes.ts';
import { NotesRenderer } from '../http/notes/notes-renderer.ts';
import { releaseNotesRoutes } from '../http/notes/release-notes-routes.ts';
import { RenderedAppcasts } from '../http/notes/rendered-appcasts.ts';
import { RenderedReleaseNotes } from '../http/notes/rendered-release-notes.ts';
import { referenceRoutes } from '../http/reference/reference-routes.ts';
import { rootRoute } from '../http/root-route.ts';
import { createRouter } from '../http/router.ts';
import type { RequestHandler, ServerOptions } from '../http/server.ts';
import { Traffic } from '../http/traffic.ts';
import { webhookRoutes } from '../http/webhook/webhook-routes.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { RareLog } from '../observe/rare-log.ts';
import type { Tracing } from '../observe/tracing.ts';
import { AuthenticateKey } from '../operations/access/authenticate-key.ts';
import { KeyUses } from '../operations/access/key-uses.ts';
import { FailureReports } from '../operations/fleet/failure-reports.ts';
import { LimitDevices } from '../operations/fleet/limit-devices.ts';
import { RehearseChange } from '../operations/publishing/rehearse-change.ts';
import { createSpreadChange, type SpreadChange } from '../operations/publishing/spread-change.ts';
import {
  followChanges,
  spreadInNode,
  type TellNode,
} from '../operations/publishing/spread-in-node.ts';
import { Webhooks } from '../operations/publishing/webhooks.ts';
import type { Catalogs } from '../operations/serving/catalogs.ts';
import { CheckUpdate } from '../operations/serving/check-update.ts';
import { ExplainDecision } from '../operations/serving/explain-decision.ts';
import { FirstOffers } from '../operations/serving/first-offer.ts';
import { MeasureEffect } from '../operations/serving/measure-effect.ts';
import { NodeHealth, type NodeState } from '../operations/serving/node-health.ts';
import { PlanWave } from '../operations/serving/plan-wave.ts';
import { Readiness } from '../operations/serving/readiness.ts';
import { SharedOffers } from '../operations/serving/shared-offers.ts';
import { WarmUp } from '../operations/serving/warm-up.ts';
import type { ChannelRevision } from '../ports/changed.ts';
import type { Engine } from '../ports/engine.ts';
import type { LastGood } from '../ports/last-good.ts';
import type { Ledger } from '../ports/ledger.ts';
import { ELECTRON, ELECTRON_FOR_ARCH } from '../updater/electron.ts';
import { MANIFEST } from '../updater/manifest.ts';
import { sparkle } from '../updater/sparkle.ts';
import { SQUIRREL_MAC, SQUIRREL_MSIX } from '../updater/squirrel-mac.ts';
import { SQUIRREL_WINDOWS } from '../updater/squirrel-windows.ts';
import { VELOPACK } from '../updater/velopack.ts';
import { version } from '../version.ts';
import { assembleCatalogs } from './catalogs.ts';
import { assembleConsole } from './console.ts';
import type { Fleet } from './fleet.ts';
import { requestWatcher } from './request-watcher.ts';
import type { Secrets } from './secrets.ts';
import type { WatchedStores } from './watch-stores.ts';

const REFERENCE_FOLDER = fileURLToPath(new URL('../reference', import.meta.url));

export type Serving = {
  /** Handlers of the service's port. */
  readonly handlers: Pick<ServerOptions, 'direct' | 'router'>;
  /** Handler of the admin address, when this process serves one. */
  readonly adminRouter: RequestHandler | undefined;
  /** Serves changes that another process of the node has made. */
  follow(changes: readonly ChannelRevision[]): Promise<void>;
  /** Says whether this process can decide, and what it does without. */
  state(): Promise<NodeState>;
  /** Makes this process not ready for good, and each reply its connection's last. */
  drain(): void;
  /** What the plans of releases are driven with. */
  readonly changes: { readonly ledger: Ledger; readonly spread: SpreadChange };
  readonly refresher: CatalogRefresher;
  readonly knownPoll: KnownChannelsPoll;
  readonly warmUp: WarmUp;
  readonly lastGood: LastGood;
  readonly readiness: Readiness;
  readonly traffic: Traffic;
  readonly keyUses: KeyUses;
  readonly notes: NotesRenderer;
};

export type ServingOptions = {
  readonly config: Config;
  readonly secrets: Secrets;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly stores: WatchedStores;
  readonly fleet: Fleet;
  /** Source of the text that `/metrics` answers. */
  readonly readMetrics: ReadMetrics;
  /**
   * Returns the base URL of the service. Called by requests only, because it is known only once the port is
   * open.
   */
  readonly address: () => string;
  /** Number of this serving process; undefined for a single process. */
  readonly worker: number | undefined;
  /** Tells the other processes of the node of changes; undefined where there are none that serve. */
  readonly tellNode: TellNode | undefined;
  readonly tracing: Tracing | undefined;
};

/** Builds everything that answers requests; nothing runs yet. */
export function assembleServing(options: ServingOptions): Serving {
  const { config, log, metrics, stores } = options;
  const { ledger, engine, lastGood } = stores;
  const rareLog = new RareLog(log);
  const { known, knownPoll, catalogs, guarded, refresher } = assembleCatalogs(
    log,
    metrics,
    stores,
    options.fleet.clock,
  );
  metrics.gauge('sluice_known_channels', 'Channels whose names this node knows', () => known.size);
  metrics.gauge('sluice_catalogs', 'Channels this node holds', () => catalogs.size);
  const warmUp = new WarmUp(catalogs, known, log);
  const readiness = new Readiness(
    ledger,
    engine,
    config.redisUrl !== undefined,
    catalogs,
    lastGood,
    warmUp,
  );
  const health = new NodeHealth(readiness, stores.healths, config.readyUnconfirmedMsMax);
  metrics.gauge(
    'sluice_catalog_unconfirmed_seconds',
    'Seconds since a store last answered',
    () => Math.round(health.unconfirmedMs / 100) / 10,
  );
  const traffic = new Traffic(log, metrics, requestWatcher(config, log, options.tracing));
  const keyUses = new KeyUses(ledger, rareLog);
  const notes = new NotesRenderer();
  const spread = spreadInNode(
    createSpreadChange(catalogs, engine, metrics, rareLog, () => options.fleet.clock.now()),
    options.tellNode,
  );
  return {
    ...assembleHandlers(options, {
      ...{ rareLog, catalogs, guarded, spread, health, traffic, keyUses, notes },
    }),
    changes: { ledger: guarded, spread },
    follow: (changes) => followChanges(catalogs, changes),
    state: () => health.state(),
    drain() {
      readiness.drain();
      traffic.endConnections();
    },
    keyUses,
    notes,
    refresher,
    knownPoll,
    warmUp,
    lastGood,
    readiness,
    traffic,
  };
}

type Parts = {
  readonly rareLog: RareLog;
  readonly catalogs: Catalogs;
  /** Ledger for the calls of clients. */
  readonly guarded: Ledger;
  readonly spread: SpreadChange;
  readonly health: NodeHealth;
  readonly traffic: Traffic;
  readonly keyUses: KeyUses;
  readonly notes: NotesRenderer;
};

function assembleHandlers(
  {
    config,
    secrets,
    metrics,
    stores,
    fleet,
    readMetrics,
    address,
    worker,
    tracing,
  }: ServingOptions,
  { rareLog, catalogs, guarded: ledger, spread, health, traffic, keyUses, notes }: Parts,
): Pick<Serving, 'handlers' | 'adminRouter'> {
  const { engine } = stores;
  const { labels, checkIns, live, clock } = fleet;
  const firstOffers = new FirstOffers({
    ledger,
    shared: new SharedOffers({ engine, catalogs, metrics, log: rareLog }),
    // Half of the connections, so that slow calls leave some to publishers.
    callsMax: Math.floor(config.databasePool / 2),
    tracing,
    metrics,
    log: rareLog,
  });
  const check = new CheckUpdate({ catalogs, firstOffers, labels, checkIns, clock, metrics });
  const explainer = new ExplainDecision({ ledger, catalogs, labels, firstOffers });
  const planWave = new PlanWave({ ledger, catalogs, check, labels, live });
  const gate = assembleGate(config, metrics, engine);
  const keys = new AuthenticateKey(ledger, (keyId, from) => keyUses.note(keyId, from));
  const guards = {
    keys,
    engine,
    alone: createMemoryEngine(),
    metrics,
    trustProxy: config.trustProxy,
  };
  const effects = new MeasureEffect(ledger);
  const rehearse = new RehearseChange({ ledger, catalogs, effects });
  const webhooks = new Webhooks({ ledger, box: secrets.box, address, log: rareLog });
  const failures = new FailureReports({ ledger, checkIns, clock });
  const updaters = assembleUpdaters(
    { check, gate, traffic },
    new RenderedAppcasts(notes, address, metrics),
  );
  const freshnessSeconds = config.deviceFreshnessSeconds;
  const healthOfNode = healthRoutes(() => health.state());
  const routes = [
    ...updaters.map(({ placeholder }) => placeholder),
    packageRoute({ catalogs, gate }),
    failureRoute({ catalogs, gate, failures, trustProxy: config.trustProxy }),
    ...downloadRoutes({ catalogs, gate }),
    ...releaseNotesRoutes({ catalogs, gate }, new RenderedReleaseNotes(notes, address)),
    ...healthOfNode,
    ...manageRoutes({ ...guards, ledger, spread, rehearse, freshnessSeconds }),
    ...planRoutes({ ...guards, ledger, spread, freshnessSeconds }),
    ...readingRoutes({ ...guards, ledger, explainer }),
    ...fleetRoutes({ ...guards, ledger, labels, live, planWave }),
    ...webhookRoutes({ webhooks, ledger, spread, metrics, log: rareLog }),
    ...referenceRoutes({ version: version(), folder: REFERENCE_FOLDER }),
  ];
  const isConsoleApart = config.adminListen !== undefined;
  // Where ADMIN_LISTEN is reached is nobody's business but the operators', unless they say it in ADMIN_URL.
  const wayToConsole = config.adminUrl === undefined ? [] : [rootRoute(config.adminUrl)];
  const isConsoleElsewhere = isConsoleApart && worker !== undefined;
  const forPeople = isConsoleElsewhere
    ? []
    : assembleConsole({
        copies: stores.copies,
        ...{
          config,
          limits: guards,
          ledger,
          labels,
          live,
          webhooks,
          address,
          spread,
          rehearse,
          notes,
        },
        ...{ secrets, explainer, readMetrics, log: rareLog },
      });
  const isAdminHere = isConsoleApart && !isConsoleElsewhere;
  return {
    handlers: {
      direct: directHandlers(updaters),
      router: createRouter([...routes, ...(isConsoleApart ? wayToConsole : forPeople)], traffic),
    },
    adminRouter: isAdminHere ? createRouter([...healthOfNode, ...forPeople], traffic) : undefined,
  };
}

/** Lists the updaters that are served. */
function assembleUpdaters(
  dependencies: DeviceRouteDependencies,
  appcasts: RenderedAppcasts,
): readonly UpdaterRoute[] {
  return [
    updaterRoute(MANIFEST, dependencies),
    updaterRoute(ELECTRON, dependencies),
    updaterRoute(ELECTRON_FOR_ARCH, dependencies),
    updaterRoute(SQUIRREL_MAC, dependencies),
    updaterRoute(SQUIRREL_MSIX, dependencies),
    updaterRoute(SQUIRREL_WINDOWS, dependencies),
    updaterRoute(VELOPACK, dependencies),
    updaterRoute(sparkle(appcasts), dependencies),
  ];
}

/**
 * Builds the gate that every device request passes. Without Redis there is no other process to share the
 * limit with.
 */
function assembleGate(config: Config, metrics: Metrics, engine: Engine): DeviceGate {
  const isShared = config.redisUrl !== undefined;
  const limit = new LimitDevices({ engine, isShared, metrics });
  metrics.gauge(
    'sluice_devices_busy',
    'Devices that call too often to be counted in passing',
    () => limit.windows.busyCount,
  );
  // Without a bound by network, nobody asks which network a device is in.
  const readsNetworks = config.newDevicesPerAddressPerMinute > 0;
  return new DeviceGate(limit, config.trustProxy, readsNetworks);
}
