// Assembly of everything that answers requests, from the routes down to the operations.

import { fileURLToPath } from 'node:url';
import { CatalogRefresher } from '../background/catalog-refresher.ts';
import { KnownChannelsPoll } from '../background/known-channels-poll.ts';
import type { Config } from '../config.ts';
import { LastGoodFiles } from '../engine/disk/last-good-files.ts';
import { createMemoryEngine } from '../engine/memory/memory-engine.ts';
import { consoleFiles } from '../http/console/console-files.ts';
import { consoleRoutes } from '../http/console/console-routes.ts';
import { DeviceGate } from '../http/device/device-gate.ts';
import type { DeviceRouteDependencies } from '../http/device/device-route.ts';
import { type UpdaterRoute, updaterRoute } from '../http/device/updater-route.ts';
import { healthRoutes, type ReadMetrics } from '../http/health-routes.ts';
import { fleetRoutes } from '../http/manage/fleet-routes.ts';
import { manageRoutes } from '../http/manage/manage-routes.ts';
import { NotesRenderer } from '../http/notes/notes-renderer.ts';
import { releaseNotesRoutes } from '../http/notes/release-notes-routes.ts';
import { RenderedReleaseNotes } from '../http/notes/rendered-release-notes.ts';
import { createRouter } from '../http/router.ts';
import type { ServerOptions } from '../http/server.ts';
import { Traffic } from '../http/traffic.ts';
import { githubWebhookRoute } from '../http/webhook/github-webhook-route.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { RareLog } from '../observe/rare-log.ts';
import { AuthenticateKey } from '../operations/access/authenticate-key.ts';
import { KeyUses } from '../operations/access/key-uses.ts';
import { LimitDevices } from '../operations/fleet/limit-devices.ts';
import { ViewFleet } from '../operations/fleet/view-fleet.ts';
import { Administer } from '../operations/publishing/administer.ts';
import { SecretBox } from '../operations/publishing/secret-box.ts';
import { createSpreadChange } from '../operations/publishing/spread-change.ts';
import { ViewConsole } from '../operations/publishing/view-console.ts';
import { Webhooks } from '../operations/publishing/webhooks.ts';
import { Catalogs } from '../operations/serving/catalogs.ts';
import { CheckUpdate } from '../operations/serving/check-update.ts';
import { ExplainDecision } from '../operations/serving/explain-decision.ts';
import { FirstOffers } from '../operations/serving/first-offer.ts';
import { KnownChannels } from '../operations/serving/known-channels.ts';
import { NodeHealth } from '../operations/serving/node-health.ts';
import { PlanWave } from '../operations/serving/plan-wave.ts';
import { Readiness } from '../operations/serving/readiness.ts';
import { SharedOffers } from '../operations/serving/shared-offers.ts';
import { WarmUp } from '../operations/serving/warm-up.ts';
import type { Engine } from '../ports/engine.ts';
import { ELECTRON } from '../updater/electron.ts';
import { MANIFEST } from '../updater/manifest.ts';
import { assembleAccounts } from './assemble-accounts.ts';
import type { Fleet } from './fleet.ts';
import { generatedSecret } from './generated-secret.ts';
import type { WatchedStores } from './watch-stores.ts';

export type Serving = {
  readonly handlers: Pick<ServerOptions, 'direct' | 'router'>;
  readonly refresher: CatalogRefresher;
  readonly knownPoll: KnownChannelsPoll;
  readonly warmUp: WarmUp;
  readonly lastGood: LastGoodFiles;
  readonly readiness: Readiness;
  readonly traffic: Traffic;
  readonly keyUses: KeyUses;
  readonly notes: NotesRenderer;
};

/** Folder into which the build writes the console. */
const CONSOLE_FOLDER = fileURLToPath(new URL('../console', import.meta.url));

export type ServingOptions = {
  readonly config: Config;
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
};

/** Builds everything that answers requests; nothing runs yet. */
export function assembleServing(options: ServingOptions): Serving {
  const { config, log, metrics, stores } = options;
  const { ledger, engine } = stores;
  const rareLog = new RareLog(log);
  const lastGood = new LastGoodFiles(config.dataDir, options.worker, ({ doing, path, error }) => {
    metrics.faults.add('disk');
    const message =
      doing === 'read'
        ? 'last known state on disk could not be read'
        : 'last known state could not be written to disk';
    rareLog.warn({ err: error, file: path }, message);
  });
  const known = new KnownChannels({ ledger, engine, lastGood, log: rareLog, metrics });
  metrics.gauge('sluice_known_channels', 'Channels whose names this node knows', () => known.size);
  const catalogs = new Catalogs({ ledger, engine, lastGood, known, log: rareLog, metrics });
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
    'max',
  );
  const traffic = new Traffic(log, metrics.requests);
  const keyUses = new KeyUses(ledger, rareLog);
  const notes = new NotesRenderer();
  return {
    handlers: assembleHandlers(options, { rareLog, catalogs, health, traffic, keyUses, notes }),
    keyUses,
    notes,
    refresher: new CatalogRefresher(catalogs, ledger, metrics, log),
    knownPoll: new KnownChannelsPoll(known),
    warmUp,
    lastGood,
    readiness,
    traffic,
  };
}

type Parts = {
  readonly rareLog: RareLog;
  readonly catalogs: Catalogs;
  readonly health: NodeHealth;
  readonly traffic: Traffic;
  readonly keyUses: KeyUses;
  readonly notes: NotesRenderer;
};

function assembleHandlers(
  { config, metrics, stores, fleet, readMetrics, address }: ServingOptions,
  { rareLog, catalogs, health, traffic, keyUses, notes }: Parts,
): Serving['handlers'] {
  const { ledger, engine } = stores;
  const { labels, checkIns, live, clock } = fleet;
  const spread = createSpreadChange(catalogs, engine, metrics, rareLog);
  const firstOffers = new FirstOffers({
    ledger,
    shared: new SharedOffers({ engine, catalogs, metrics, log: rareLog }),
    metrics,
    log: rareLog,
  });
  const check = new CheckUpdate({ catalogs, firstOffers, labels, checkIns, clock, metrics });
  const planWave = new PlanWave({ ledger, catalogs, check, labels, live });
  const gate = assembleGate(config, metrics, engine);
  const keys = new AuthenticateKey(ledger, (keyId) => keyUses.note(keyId));
  const guards = { keys, engine, alone: createMemoryEngine(), metrics };
  const webhooks = new Webhooks({ ledger, box: secretBox(config), address, log: rareLog });
  const updaters = assembleUpdaters({ check, gate, traffic });
  const routes = [
    ...updaters.map(({ placeholder }) => placeholder),
    ...releaseNotesRoutes(catalogs, gate, new RenderedReleaseNotes(notes, address)),
    ...healthRoutes(() => health.state(), readMetrics),
    ...manageRoutes({ ...guards, ledger, spread }),
    ...fleetRoutes({ ...guards, ledger, labels, live, planWave }),
    ...consoleFiles(CONSOLE_FOLDER),
    ...consoleRoutes({
      ...assembleAccounts(config, { ...guards, ledger }),
      administer: new Administer(ledger, spread, config.organizationsBy === 'anyone'),
      view: new ViewConsole(ledger),
      fleet: new ViewFleet(ledger, live),
      explainer: new ExplainDecision({ ledger, catalogs, labels, firstOffers }),
      webhooks,
      ledger,
      spread,
      notes,
    }),
    githubWebhookRoute({ webhooks, ledger, spread, metrics, log: rareLog }),
  ];
  return {
    direct: Object.fromEntries(updaters.map(({ prefix, handlers }) => [prefix, handlers])),
    router: createRouter(routes, traffic),
  };
}

/** Lists the updaters that are served. */
function assembleUpdaters(dependencies: DeviceRouteDependencies): readonly UpdaterRoute[] {
  return [updaterRoute(MANIFEST, dependencies), updaterRoute(ELECTRON, dependencies)];
}

/**
 * Builds the box for webhook secrets; undefined without a secret key, in which case webhooks cannot be
 * enabled.
 */
function secretBox(config: Config): SecretBox | undefined {
  const secretKey = generatedSecret(config, config.secretKey, 'secret-key');
  return secretKey === undefined ? undefined : new SecretBox(secretKey);
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
  return new DeviceGate(limit, config.trustProxy);
}
