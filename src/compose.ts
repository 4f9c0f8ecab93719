// Puts the rooms together. The only file that knows which implementation stands behind a port.

import { mkdirSync } from 'node:fs';
import { CatalogRefresher } from './background/catalog-refresher.ts';
import { CheckInDrain } from './background/check-in-drain.ts';
import { FleetSweeper } from './background/fleet-sweeper.ts';
import { type Config, ConfigError, reachableHost } from './config.ts';
import { LastGoodFiles } from './engine/disk/last-good-files.ts';
import { createMemoryEngine } from './engine/memory/memory-engine.ts';
import { createRedisEngine } from './engine/redis/redis-engine.ts';
import { createAdmit } from './http/console/admit.ts';
import { consoleRoutes } from './http/console/console-routes.ts';
import { fleetConsoleRoutes } from './http/console/fleet-console-routes.ts';
import { webhookConsoleRoutes } from './http/console/webhook-console-routes.ts';
import { CHECK_PLACEHOLDER, createCheckRoute } from './http/device/check-route.ts';
import { DeviceGate } from './http/device/device-gate.ts';
import { feedRoutes } from './http/device/feed-routes.ts';
import { createUpdateFileRoute, UPDATE_FILE_PLACEHOLDER } from './http/device/update-file-route.ts';
import { healthRoutes } from './http/health-routes.ts';
import { fleetRoutes } from './http/manage/fleet-routes.ts';
import { manageRoutes } from './http/manage/manage-routes.ts';
import { createRouter } from './http/router.ts';
import { startServer } from './http/server.ts';
import { Traffic } from './http/traffic.ts';
import { githubWebhookRoute } from './http/webhook/github-webhook-route.ts';
import { openLedger } from './ledger/open-ledger.ts';
import type { Log } from './observe/log.ts';
import { Metrics } from './observe/metrics.ts';
import { RareLog } from './observe/rare-log.ts';
import { Administer } from './operations/administer.ts';
import { AuthenticateKey } from './operations/authenticate-key.ts';
import { Catalogs } from './operations/catalogs.ts';
import { CheckIns } from './operations/check-ins.ts';
import { CheckUpdate } from './operations/check-update.ts';
import { DeviceLabels } from './operations/device-labels.ts';
import { FirstOffers } from './operations/first-offer.ts';
import { LimitDevices } from './operations/limit-devices.ts';
import { LiveFeed } from './operations/live-feed.ts';
import { PlanWave } from './operations/plan-wave.ts';
import { Readiness } from './operations/readiness.ts';
import { SecretBox } from './operations/secret-box.ts';
import { createSpreadChange } from './operations/spread-change.ts';
import { ViewFleet } from './operations/view-fleet.ts';
import { Webhooks } from './operations/webhooks.ts';
import type { Engine } from './ports/engine.ts';
import type { Ledger } from './ports/ledger.ts';
import { readOrCreateToken, type TokenName } from './token-file.ts';

export type Service = {
  /** Where it can be called, as printed and put into feeds. */
  readonly address: string;
  readonly port: number;
  /** Stops accepting, finishes what is in flight, closes the stores. */
  stop(): Promise<void>;
};

/** Leaves room below the 10 s that a stop may take for the stores to close. */
const DRAIN_WAIT_MS_MAX = 1500;
/** How long a check-in waits for company before it is sent. */
const CHECK_IN_INTERVAL_MS = 50;
const IN_FLIGHT_WAIT_MS_MAX = 7000;

/** Starts everything; rejects when the port is taken, the data directory is in use, or the schema unknown. */
export async function composeService(config: Config, log: Log): Promise<Service> {
  await fromSetting('DATA_DIR', () => mkdirSync(config.dataDir, { recursive: true }));
  const metrics = new Metrics();
  const ledger = await fromSetting(
    config.databaseUrl === undefined ? 'DATA_DIR' : 'DATABASE_URL',
    () => openStoredLedger(config, log),
  );
  const engine = await fromSetting('REDIS_URL', () => openEngine(config, log));
  // Asked for by requests only, when it is known.
  let address = config.publicUrl ?? '';
  const parts = assemble(config, log, metrics, ledger, engine, () => address);
  // Before the first request: what is announced while a channel loads must be heard.
  parts.refresher.start(engine);
  const { host, port } = config;
  const server = await fromSetting('HOST, PORT', () =>
    startServer({ host, port, ...parts.handlers }),
  );
  address = config.publicUrl ?? `http://${reachableHost(config.host)}:${server.port}`;
  parts.fleet.start();
  return {
    address,
    port: server.port,
    async stop() {
      parts.readiness.drain();
      server.stopAccepting();
      await parts.traffic.drain(IN_FLIGHT_WAIT_MS_MAX);
      server.close();
      await parts.refresher.stop();
      await parts.fleet.stop();
      await parts.lastGood.flush();
      await engine.close();
      await ledger.close();
    },
  };
}

/** What can only be found wrong by using it is a wrong setting all the same: the error names the variable. */
async function fromSetting<Value>(
  variable: string,
  use: () => Value | Promise<Value>,
): Promise<Value> {
  try {
    return await use();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ConfigError(`${variable}: ${reason}`, { cause: error });
  }
}

function assemble(
  config: Config,
  log: Log,
  metrics: Metrics,
  ledger: Ledger,
  engine: Engine,
  address: () => string,
) {
  const lastGood = new LastGoodFiles(config.dataDir, (error) => {
    metrics.faults.add('disk');
    log.warn({ err: error }, 'last known state could not be kept on disk');
  });
  const rareLog = new RareLog(log);
  const catalogs = new Catalogs({ ledger, engine, lastGood, log: rareLog, metrics });
  const spread = createSpreadChange(catalogs, engine, metrics, rareLog);
  const firstOffers = new FirstOffers(ledger, metrics, rareLog, (catalog, release) =>
    catalogs.noteOffered(catalog, release),
  );
  const fleet = assembleFleet(config, log, metrics, ledger, engine);
  const { labels, checkIns, live } = fleet;
  const check = new CheckUpdate({ catalogs, firstOffers, labels, checkIns, metrics });
  const planWave = new PlanWave({ ledger, catalogs, check, labels, live });
  const readiness = new Readiness(
    ledger,
    engine,
    config.redisUrl !== undefined,
    catalogs,
    lastGood,
  );
  const traffic = new Traffic(log, metrics.requests);
  metrics.gauge('sluice_catalogs', 'Channels this node holds', () => catalogs.size);
  const gate = assembleGate(config, metrics, engine);
  const admit = createAdmit(generatedUnless(config, config.adminToken, 'admin-token'));
  const keys = new AuthenticateKey(ledger);
  const guards = { keys, engine, alone: createMemoryEngine(), metrics };
  const secretKey = generatedUnless(config, config.secretKey, 'secret-key');
  const box = secretKey === undefined ? undefined : new SecretBox(secretKey);
  const webhooks = new Webhooks({ ledger, box, address, log: rareLog });
  const routes = [
    CHECK_PLACEHOLDER,
    UPDATE_FILE_PLACEHOLDER,
    ...feedRoutes(catalogs, gate, address),
    ...healthRoutes(() => readiness.obstacle(), metrics.registry),
    ...manageRoutes({ ...guards, ledger, spread }),
    ...fleetRoutes({ ...guards, ledger, labels, live, planWave }),
    ...consoleRoutes(new Administer(ledger, spread), admit),
    ...fleetConsoleRoutes(new ViewFleet(ledger, live), admit),
    ...webhookConsoleRoutes(webhooks, admit),
    githubWebhookRoute({ webhooks, ledger, spread, metrics, log: rareLog }),
  ];
  return {
    handlers: {
      direct: {
        '/u': createCheckRoute({ check, gate, traffic }),
        '/e': createUpdateFileRoute({ check, gate, traffic }),
      },
      router: createRouter(routes, traffic),
    },
    gate,
    refresher: new CatalogRefresher(catalogs, ledger, metrics, log),
    lastGood,
    readiness,
    traffic,
    fleet,
  };
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

/** What records the fleet: from the check to the engine, from the engine to the ledger. */
function assembleFleet(config: Config, log: Log, metrics: Metrics, ledger: Ledger, engine: Engine) {
  const live = new LiveFeed(engine, metrics, log);
  const labels = new DeviceLabels({ ledger, engine, metrics, log });
  const checkIns = new CheckIns(engine, live, metrics, log);
  const drain = new CheckInDrain({ queue: engine, ledger, labels, metrics, log });
  const retention = {
    devicesDays: config.deviceRetentionDays,
    hoursDays: config.adoptionRetentionDays,
  };
  const sweeper = new FleetSweeper(ledger, retention, metrics, log);
  metrics.gauge('sluice_check_ins_held', 'Check-ins not yet sent', () => checkIns.size);
  return {
    labels,
    checkIns,
    live,
    start() {
      labels.start();
      live.start();
      checkIns.start(CHECK_IN_INTERVAL_MS);
      drain.start();
      sweeper.start();
    },
    /** Hands on what is held; an engine that ends with this process is emptied into the ledger. */
    async stop() {
      live.stop();
      await sweeper.stop();
      await checkIns.stop();
      if (config.redisUrl === undefined) await drain.finish(DRAIN_WAIT_MS_MAX);
      else await drain.stop();
      labels.stop();
    },
  };
}

function openStoredLedger(config: Config, log: Log): Promise<Ledger> {
  const rareLog = new RareLog(log);
  return openLedger({
    databaseUrl: config.databaseUrl,
    dataDir: config.dataDir,
    onFault: (error) => rareLog.warn({ err: error }, 'ledger fault'),
    onFatal: (error) => {
      // Running on would mean answering from a schema this version does not understand.
      throw error;
    },
  });
}

function openEngine(config: Config, log: Log): Engine {
  if (config.redisUrl === undefined) return createMemoryEngine();
  const rareLog = new RareLog(log);
  return createRedisEngine({
    url: config.redisUrl,
    onFault: (error) => rareLog.warn({ err: error }, 'engine fault'),
  });
}

/** With an embedded ledger the service is somebody's own machine, so it makes its own tokens. */
function generatedUnless(
  config: Config,
  setting: string | undefined,
  name: TokenName,
): string | undefined {
  if (setting !== undefined) return setting;
  return config.databaseUrl === undefined ? readOrCreateToken(config.dataDir, name) : undefined;
}
