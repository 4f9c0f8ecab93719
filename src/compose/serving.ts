// Everything that answers requests, from the routes down to the operations.

import { fileURLToPath } from 'node:url';
import { CatalogRefresher } from '../background/catalog-refresher.ts';
import type { Config } from '../config.ts';
import { LastGoodFiles } from '../engine/disk/last-good-files.ts';
import { createMemoryEngine } from '../engine/memory/memory-engine.ts';
import { consoleFiles } from '../http/console/console-files.ts';
import { consoleRoutes } from '../http/console/console-routes.ts';
import { CHECK_PLACEHOLDER, createCheckRoute } from '../http/device/check-route.ts';
import { DeviceGate } from '../http/device/device-gate.ts';
import { feedRoutes } from '../http/device/feed-routes.ts';
import {
  createUpdateFileRoute,
  UPDATE_FILE_PLACEHOLDER,
} from '../http/device/update-file-route.ts';
import { type Figures, healthRoutes } from '../http/health-routes.ts';
import { fleetRoutes } from '../http/manage/fleet-routes.ts';
import { manageRoutes } from '../http/manage/manage-routes.ts';
import { createRouter } from '../http/router.ts';
import type { ServerOptions } from '../http/server.ts';
import { Traffic } from '../http/traffic.ts';
import { githubWebhookRoute } from '../http/webhook/github-webhook-route.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { RareLog } from '../observe/rare-log.ts';
import { Administer } from '../operations/administer.ts';
import { AuthenticateKey } from '../operations/authenticate-key.ts';
import { Catalogs } from '../operations/catalogs.ts';
import { CheckUpdate } from '../operations/check-update.ts';
import { ExplainDecision } from '../operations/explain-decision.ts';
import { FirstOffers } from '../operations/first-offer.ts';
import { KeyUses } from '../operations/key-uses.ts';
import { LimitDevices } from '../operations/limit-devices.ts';
import { PlanWave } from '../operations/plan-wave.ts';
import { Readiness } from '../operations/readiness.ts';
import { SecretBox } from '../operations/secret-box.ts';
import { createSpreadChange } from '../operations/spread-change.ts';
import { ViewConsole } from '../operations/view-console.ts';
import { ViewFleet } from '../operations/view-fleet.ts';
import { Webhooks } from '../operations/webhooks.ts';
import type { Engine } from '../ports/engine.ts';
import type { Fleet } from './fleet.ts';
import { generatedUnless } from './generated-unless.ts';
import { assemblePeople } from './people.ts';
import type { Stores } from './stores.ts';

export type Serving = {
  readonly handlers: Pick<ServerOptions, 'direct' | 'router'>;
  readonly refresher: CatalogRefresher;
  readonly lastGood: LastGoodFiles;
  readonly readiness: Readiness;
  readonly traffic: Traffic;
  readonly keyUses: KeyUses;
};

/** Where the build puts the console. */
const CONSOLE_FOLDER = fileURLToPath(new URL('../console', import.meta.url));

export type ServingOptions = {
  readonly config: Config;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly stores: Stores;
  readonly fleet: Fleet;
  /** What `/metrics` answers. */
  readonly figures: Figures;
  /** Where the service can be called, once it is known; asked for by requests only. */
  readonly address: () => string;
  /** Which of several serving processes this is; undefined: the only one. */
  readonly worker: number | undefined;
};

/** Puts together what answers requests; nothing of it runs yet. */
export function assembleServing(options: ServingOptions): Serving {
  const { config, log, metrics, stores } = options;
  const { ledger, engine } = stores;
  const rareLog = new RareLog(log);
  const lastGood = new LastGoodFiles(config.dataDir, options.worker, (error) => {
    metrics.faults.add('disk');
    log.warn({ err: error }, 'last known state could not be kept on disk');
  });
  const catalogs = new Catalogs({ ledger, engine, lastGood, log: rareLog, metrics });
  metrics.gauge('sluice_catalogs', 'Channels this node holds', () => catalogs.size);
  const readiness = new Readiness(
    ledger,
    engine,
    config.redisUrl !== undefined,
    catalogs,
    lastGood,
  );
  const traffic = new Traffic(log, metrics.requests);
  const keyUses = new KeyUses(ledger, rareLog);
  return {
    handlers: assembleHandlers(options, { rareLog, catalogs, readiness, traffic, keyUses }),
    keyUses,
    refresher: new CatalogRefresher(catalogs, ledger, metrics, log),
    lastGood,
    readiness,
    traffic,
  };
}

type Parts = {
  readonly rareLog: RareLog;
  readonly catalogs: Catalogs;
  readonly readiness: Readiness;
  readonly traffic: Traffic;
  readonly keyUses: KeyUses;
};

function assembleHandlers(
  { config, metrics, stores, fleet, figures, address }: ServingOptions,
  { rareLog, catalogs, readiness, traffic, keyUses }: Parts,
): Serving['handlers'] {
  const { ledger, engine } = stores;
  const { labels, checkIns, live } = fleet;
  const spread = createSpreadChange(catalogs, engine, metrics, rareLog);
  const firstOffers = new FirstOffers(ledger, metrics, rareLog, (catalog, release) =>
    catalogs.noteOffered(catalog, release),
  );
  const check = new CheckUpdate({ catalogs, firstOffers, labels, checkIns, metrics });
  const planWave = new PlanWave({ ledger, catalogs, check, labels, live });
  const gate = assembleGate(config, metrics, engine);
  const keys = new AuthenticateKey(ledger, (keyId) => keyUses.note(keyId));
  const guards = { keys, engine, alone: createMemoryEngine(), metrics };
  const webhooks = new Webhooks({ ledger, box: secretBox(config), address, log: rareLog });
  const routes = [
    CHECK_PLACEHOLDER,
    UPDATE_FILE_PLACEHOLDER,
    ...feedRoutes(catalogs, gate, address),
    ...healthRoutes(() => readiness.obstacle(), figures),
    ...manageRoutes({ ...guards, ledger, spread }),
    ...fleetRoutes({ ...guards, ledger, labels, live, planWave }),
    ...consoleFiles(CONSOLE_FOLDER),
    ...consoleRoutes({
      ...assemblePeople(config, { ...guards, ledger }),
      administer: new Administer(ledger, spread),
      view: new ViewConsole(ledger),
      fleet: new ViewFleet(ledger, live),
      explainer: new ExplainDecision({ ledger, catalogs, labels }),
      webhooks,
      ledger,
      spread,
    }),
    githubWebhookRoute({ webhooks, ledger, spread, metrics, log: rareLog }),
  ];
  return {
    direct: {
      '/u': createCheckRoute({ check, gate, traffic }),
      '/e': createUpdateFileRoute({ check, gate, traffic }),
    },
    router: createRouter(routes, traffic),
  };
}

/** Undefined without a key: then no secret can be kept. */
function secretBox(config: Config): SecretBox | undefined {
  const secretKey = generatedUnless(config, config.secretKey, 'secret-key');
  return secretKey === undefined ? undefined : new SecretBox(secretKey);
}

/** What every request of a device passes; without Redis there is no other process to settle with. */
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
