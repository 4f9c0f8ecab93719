// Puts the rooms together. The only file that knows which implementation stands behind a port.

import { mkdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { CatalogRefresher } from './background/catalog-refresher.ts';
import { CheckInDrain } from './background/check-in-drain.ts';
import { FleetSweeper } from './background/fleet-sweeper.ts';
import { type Config, ConfigError, reachableHost } from './config.ts';
import { LastGoodFiles } from './engine/disk/last-good-files.ts';
import { createMemoryEngine } from './engine/memory/memory-engine.ts';
import { createRedisEngine } from './engine/redis/redis-engine.ts';
import { consoleRoutes } from './http/console/console-routes.ts';
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
import { Accounts } from './operations/accounts.ts';
import { Administer } from './operations/administer.ts';
import { AuthenticateKey } from './operations/authenticate-key.ts';
import { Catalogs } from './operations/catalogs.ts';
import { CheckIns } from './operations/check-ins.ts';
import { CheckUpdate } from './operations/check-update.ts';
import { DeviceLabels } from './operations/device-labels.ts';
import { ExplainDecision } from './operations/explain-decision.ts';
import { FirstOffers } from './operations/first-offer.ts';
import { KeyUses } from './operations/key-uses.ts';
import { LimitDevices } from './operations/limit-devices.ts';
import { LiveFeed } from './operations/live-feed.ts';
import { LoginThrottle, type ThrottleDependencies } from './operations/login-throttle.ts';
import { Members } from './operations/members.ts';
import { Passwords } from './operations/passwords.ts';
import { PlanWave } from './operations/plan-wave.ts';
import { Readiness } from './operations/readiness.ts';
import { SecretBox } from './operations/secret-box.ts';
import { createSpreadChange } from './operations/spread-change.ts';
import { ViewConsole } from './operations/view-console.ts';
import { ViewFleet } from './operations/view-fleet.ts';
import { Webhooks } from './operations/webhooks.ts';
import { argon2Hasher } from './password/argon2-hasher.ts';
import type { Engine } from './ports/engine.ts';
import type { Ledger } from './ports/ledger.ts';
import { Unavailable } from './ports/unavailable.ts';
import { readOrCreateToken, type TokenName } from './token-file.ts';

export type Service = {
  /** Where it can be called, as printed and put into feeds. */
  readonly address: string;
  readonly port: number;
  /** Whether nobody has an account yet, once the ledger can say; false when it cannot for minutes. */
  awaitsSetUp(): Promise<boolean>;
  /** Stops accepting, finishes what is in flight, closes the stores. */
  stop(): Promise<void>;
};

/** Leaves room below the 10 s that a stop may take for the stores to close. */
const DRAIN_WAIT_MS_MAX = 1500;
/** How long a check-in waits for company before it is sent. */
const CHECK_IN_INTERVAL_MS = 50;
const IN_FLIGHT_WAIT_MS_MAX = 7000;
const SET_UP_LOOKS_MAX = 300;
const SET_UP_LOOK_INTERVAL_MS = 1000;

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
  parts.keyUses.start();
  return {
    address,
    port: server.port,
    awaitsSetUp: () => awaitsSetUp(parts.accounts),
    async stop() {
      parts.readiness.drain();
      server.stopAccepting();
      await parts.traffic.drain(IN_FLIGHT_WAIT_MS_MAX);
      server.close();
      await parts.refresher.stop();
      await parts.fleet.stop();
      await parts.keyUses.stop();
      await parts.lastGood.flush();
      await engine.close();
      await ledger.close();
    },
  };
}

async function awaitsSetUp(accounts: Accounts): Promise<boolean> {
  for (let attempt = 0; attempt < SET_UP_LOOKS_MAX; attempt++) {
    try {
      return await accounts.awaitSetUp();
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      await sleep(SET_UP_LOOK_INTERVAL_MS, undefined, { ref: false });
    }
  }
  return false;
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
  const lastGood = openLastGood(config, log, metrics);
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
  const isShared = config.redisUrl !== undefined;
  const readiness = new Readiness(ledger, engine, isShared, catalogs, lastGood);
  const traffic = new Traffic(log, metrics.requests);
  metrics.gauge('sluice_catalogs', 'Channels this node holds', () => catalogs.size);
  const gate = assembleGate(config, metrics, engine);
  const alone = createMemoryEngine();
  const keyUses = new KeyUses(ledger, rareLog);
  const keys = new AuthenticateKey(ledger, (keyId) => keyUses.note(keyId));
  const guards = { keys, engine, alone, metrics };
  const people = assemblePeople(config, { ...guards, ledger });
  const webhooks = new Webhooks({ ledger, box: secretBox(config), address, log: rareLog });
  const routes = [
    CHECK_PLACEHOLDER,
    UPDATE_FILE_PLACEHOLDER,
    ...feedRoutes(catalogs, gate, address),
    ...healthRoutes(() => readiness.obstacle(), metrics.registry),
    ...manageRoutes({ ...guards, ledger, spread }),
    ...fleetRoutes({ ...guards, ledger, labels, live, planWave }),
    ...consoleRoutes({
      ...people,
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
    keyUses,
    accounts: people.accounts,
  };
}

function openLastGood(config: Config, log: Log, metrics: Metrics): LastGoodFiles {
  return new LastGoodFiles(config.dataDir, (error) => {
    metrics.faults.add('disk');
    log.warn({ err: error }, 'last known state could not be kept on disk');
  });
}

/** Undefined without a key: then no secret can be kept. */
function secretBox(config: Config): SecretBox | undefined {
  const secretKey = generatedUnless(config, config.secretKey, 'secret-key');
  return secretKey === undefined ? undefined : new SecretBox(secretKey);
}

/** What knows people: accounts, and who belongs to which organization. */
function assemblePeople(config: Config, stores: ThrottleDependencies & { ledger: Ledger }) {
  const { ledger } = stores;
  const passwords = new Passwords(argon2Hasher);
  const throttle = new LoginThrottle(stores);
  const shared = { ledger, passwords, throttle, now: Date.now };
  const accounts = new Accounts({
    ...shared,
    adminToken: generatedUnless(config, config.adminToken, 'admin-token'),
  });
  const members = new Members({ ...shared, accounts });
  const { publicUrl, trustProxy } = config;
  return { accounts, members, publicUrl, trustProxy };
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
