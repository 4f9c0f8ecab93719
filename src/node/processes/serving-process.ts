// The serving process: assembles everything that answers requests, from the routes down to the operations.

import { AuthenticateKey, KeyUses } from '../../access/api-keys.ts';
import { EdgeAhead } from '../../edge/server/edge-ahead.ts';
import { EdgeDevices } from '../../edge/server/edge-devices.ts';
import { EdgeIndex } from '../../edge/server/edge-index.ts';
import { EdgeSnapshots } from '../../edge/server/edge-snapshots.ts';
import { AuthenticateEdge } from '../../edge/server/edge-tokens.ts';
import type { ActionRecord } from '../../fleet/action-record.ts';
import { DdiCredentials } from '../../fleet/ddi-credentials.ts';
import { DdiTokens } from '../../fleet/ddi-tokens.ts';
import { FailureReports } from '../../fleet/fleet-views.ts';
import { ClockWatch } from '../../fleet/ledger-clock.ts';
import { edgeRoutes } from '../../http/api/edge-routes.ts';
import { healthRoutes, type ReadMetrics, rootRoute } from '../../http/api/health-routes.ts';
import { keyRoutes } from '../../http/api/key-routes.ts';
import { failureRoute } from '../../http/device/download-routes.ts';
import { directHandlers } from '../../http/device/updater-route.ts';
import type { HttpEngine } from '../../http/transport/engine.ts';
import type { RequestHandler } from '../../http/transport/http-app.ts';
import { createRouter, type Route } from '../../http/transport/router.ts';
import { type Server, type ServerOptions, startServer } from '../../http/transport/server.ts';
import { webhookRoutes } from '../../http/webhook/webhook-routes.ts';
import type { Log } from '../../observe/log.ts';
import type { Metrics } from '../../observe/metrics.ts';
import { RareLog } from '../../observe/rare-log.ts';
import type { Tracing } from '../../observe/tracing.ts';
import {
  createPropagateChange,
  followChanges,
  type PropagateChange,
  propagateInNode,
  type TellNode,
} from '../../publishing/propagate-change.ts';
import { ReleaseRetries } from '../../publishing/release-retries.ts';
import { Webhooks } from '../../publishing/webhooks.ts';
import { EffectMeter } from '../../serving/dry-run-effect.ts';
import { ExplainDecision } from '../../serving/explain-decision.ts';
import { WavePlanner } from '../../serving/fleet-decisions.ts';
import { guardChanges } from '../../serving/guard-changes.ts';
import { StandingReader } from '../../serving/read-standings.ts';
import { type Config, reachableHost } from '../../settings/settings.ts';
import type { Ledger } from '../../store/ledger.ts';
import type { ChannelRevision } from '../../store/ledger-terms.ts';
import { createMemoryEngine } from '../../store/memory/memory-engine.ts';
import { assembleChanges, assembleConsole, assembleReference } from '../assemble/console-side.ts';
import { assembleDdi } from '../assemble/ddi-side.ts';
import { assembleDeviceSide, type DeviceSide } from '../assemble/device-side.ts';
import { assembleConnectionLimit, openTracing } from '../assemble/observe-requests.ts';
import { Secrets } from '../assemble/secrets.ts';
import {
  assembleAdmission,
  assembleFleet,
  type Fleet,
  IN_FLIGHT_WAIT_MS_MAX,
  rememberRecorded,
} from '../assemble/shared-parts.ts';
import { fromSetting, reloadable } from '../assemble/stores.ts';
import { type WatchedStores, watchStores } from '../assemble/watch-stores.ts';
import { assembleBackground } from './background-process.ts';

type ServingOptions = {
  readonly config: Config;
  readonly secrets: Secrets;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly stores: WatchedStores;
  readonly fleet: Fleet;
  /** Reads the text of `/metrics`. */
  readonly readMetrics: ReadMetrics;
  /** Returns the base URL of the service. Only requests call it, as it is unknown until the port is open. */
  readonly address: () => string;
  /** Number of this serving process; undefined for a single process. */
  readonly worker: number | undefined;
  /** Sends changes to the other serving processes of the node; undefined if there are none. */
  readonly tellNode: TellNode | undefined;
  readonly tracing: Tracing | undefined;
};

type Serving = ReturnType<typeof assembleServing>;

/** Assembles everything that answers requests; starts nothing. */
function assembleServing(options: ServingOptions) {
  const rareLog = new RareLog(options.log);
  const devices = assembleDeviceSide({ ...options, rareLog });
  const { catalogs, refresher, knownPoll, warmUp, readiness, health, traffic, notes } = devices;
  const { ledger, diskSnapshots } = options.stores;
  const keyUses = new KeyUses(ledger, rareLog);
  const { box } = options.secrets;
  const ddiCredentials = new DdiCredentials({ ledger, box, log: rareLog });
  const guarded = guardChanges(ledger, catalogs);
  const { stores, metrics, fleet } = options;
  const propagate = propagateInNode(
    createPropagateChange(catalogs, stores.engine, metrics, rareLog, () => fleet.clock.now()),
    options.tellNode,
  );
  const ddi = assembleDdi({ ...options, ...devices, credentials: ddiCredentials });
  const followed = assembleFollowed({ ...options, ...devices, rareLog });
  const parts = {
    ...devices,
    rareLog,
    guarded,
    propagate,
    keyUses,
    edgeRoutes: followed.routes,
    routes: [...devices.routes, ...ddi.routes],
    direct: ddi.direct,
    actions: ddi.actions,
  };
  return {
    ...assembleHandlers(options, parts),
    /** Starts following changes of other nodes. */
    start() {
      // Before the first request: an announcement that arrives while a channel loads must not be missed.
      refresher.start(options.stores.engine);
      knownPoll.start(options.stores.engine);
      followed.index.start(options.stores.engine);
    },
    /** Makes this process not ready, and ends the waits of edges. */
    close() {
      readiness.drain();
      followed.index.stop();
    },
    /** Ledger and propagation with which rollout plans change releases. */
    changes: { ledger: guarded, propagate },
    /** Serves changes that another process of the node has made. */
    follow: (changes: readonly ChannelRevision[]) => followChanges(catalogs, changes),
    /** Returns whether this process can decide, and which stores it lacks. */
    state: () => health.state(),
    /** Makes this process not ready, and each reply the last of its connection; still accepts connections. */
    drain() {
      readiness.drain();
      traffic.endConnections();
    },
    ...{ keyUses, ddiCredentials, notes, refresher, knownPoll, warmUp, diskSnapshots, traffic },
    unstored: ddi.unstored,
  };
}

type Parts = DeviceSide & {
  /** Handlers that bypass the router beside those of updaters, by prefix. */
  readonly direct: ReturnType<typeof assembleDdi>['direct'];
  readonly edgeRoutes: readonly Route[];
  readonly rareLog: RareLog;
  /** Ledger for clients' calls (`guardChanges`): if it went back, a change recovers it first. */
  readonly guarded: Ledger;
  readonly propagate: PropagateChange;
  readonly keyUses: KeyUses;
  readonly actions: ActionRecord;
};

function assembleHandlers(
  { config, secrets, metrics, stores, fleet, readMetrics, address, worker }: ServingOptions,
  parts: Parts,
) {
  const { rareLog, catalogs, guarded: ledger, propagate, traffic, keyUses, notes } = parts;
  const { check, firstOffers, gate } = parts;
  const { engine } = stores;
  const { labels, checkIns, live, clock, mistakenIds } = fleet;
  const explainer = new ExplainDecision({ ledger, catalogs, labels, firstOffers });
  const standings = new StandingReader(ledger, catalogs);
  const planWave = new WavePlanner({ ledger, catalogs, check, labels, live, mistakenIds });
  const keys = new AuthenticateKey(ledger, (keyId, from) => keyUses.note(keyId, from));
  const guards = {
    keys,
    engine,
    alone: createMemoryEngine(),
    metrics,
    trustProxy: config.trustProxy,
  };
  const effects = new EffectMeter(ledger);
  const changing = assembleChanges({ config, ledger, catalogs, effects, propagate, address });
  const webhooks = new Webhooks({ ledger, box: secrets.box, address, log: rareLog });
  const { changes } = changing;
  const retries = new ReleaseRetries({ ledger, changes, actions: parts.actions });
  const failures = new FailureReports({ ledger, checkIns, clock, metrics });
  const freshnessSeconds = config.deviceFreshnessSeconds;
  const healthOfNode = healthRoutes(() => parts.health.state());
  const routes = [
    ...parts.routes,
    failureRoute({ catalogs, gate, failures, trustProxy: config.trustProxy }),
    ...healthOfNode,
    ...keyRoutes(guards, {
      ...changing,
      ...{ ledger, metrics, freshnessSeconds, explainer, standings, labels, live, mistakenIds },
      ...{
        planWave,
        retries,
        actions: parts.actions,
        ddiTokens: new DdiTokens(ledger, secrets.box),
      },
    }),
    ...webhookRoutes({ webhooks, ledger, propagate, catalogs, metrics, log: rareLog }),
    ...parts.edgeRoutes,
    ...assembleReference(() => config.publicUrl ?? '/'),
  ];
  const isConsoleApart = config.adminListen !== undefined;
  // Without ADMIN_URL the service does not reveal the admin address.
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
          propagate,
          ...changing,
          ...{ retries, notes },
        },
        ...{ secrets, explainer, standings, readMetrics, log: rareLog },
      });
  const isAdminHere = isConsoleApart && !isConsoleElsewhere;
  return {
    /** Handlers of the service's port. */
    handlers: {
      direct: { ...directHandlers(parts.updaters), ...parts.direct },
      router: createRouter([...routes, ...(isConsoleApart ? wayToConsole : forPeople)], traffic),
    },
    /** Handler of the admin address, if this process serves one. */
    adminRouter: isAdminHere
      ? createRouter([...healthOfNode, ...assembleReference(address), ...forPeople], traffic)
      : undefined,
  };
}

export type Service = Pick<Serving, 'state' | 'follow' | 'drain'> & {
  /** Base URL of the service, for the log and for feeds. */
  readonly address: string;
  readonly port: number;
  /** Port of the admin address, if this process serves it. */
  readonly adminPort: number | undefined;
  /** Uses the settings that may change at run time. Never rejects. */
  reload(config: Config): Promise<void>;
  /** Stops accepting connections; open ones are still served. */
  close(): void;
  /** Stops accepting, finishes the requests in flight and closes the stores. */
  stop(): Promise<void>;
};

export type ServiceOptions = {
  /** HTTP engine that the node has chosen. */
  readonly engine: HttpEngine;
  readonly metrics: Metrics;
  /** Reads the text of `/metrics`. */
  readonly readMetrics: ReadMetrics;
  /** Whether this process also runs the background work. */
  readonly hasBackground: boolean;
  /** Number of this serving process and the port shared with the others; undefined for a single process. */
  readonly worker?: { readonly number: number; readonly port: number } | undefined;
  /** Sends changes to the other serving processes of the node; undefined if there are none. */
  readonly tellNode?: TellNode | undefined;
};

/** Starts the process; rejects when the port or the data directory is in use, or the schema is newer. */
export async function composeService(
  config: Config,
  log: Log,
  { engine, metrics, readMetrics, hasBackground, worker, tellNode }: ServiceOptions,
): Promise<Service> {
  const tracing = await openTracing(config, log, worker?.number);
  const stores = await watchStores({ config, log, metrics, tracing, holder: worker?.number });
  const fleet = assembleFleet(config, stores, metrics, log, stores.ledger);
  const secrets = new Secrets(config);
  let address = config.publicUrl ?? '';
  const serving = assembleServing({
    ...{ config, secrets, log, metrics, stores, fleet, readMetrics },
    address: () => address,
    worker: worker?.number,
    tellNode,
    tracing,
  });
  const background = hasBackground
    ? assembleBackground(config, log, metrics, stores, {
        ...fleet,
        secrets,
        changes: serving.changes,
      })
    : undefined;
  const clockWatch = new ClockWatch({ clock: fleet.clock, metrics, log, isTelling: hasBackground });
  // Before the first check, because its check-in gets the ledger's time.
  await clockWatch.start();
  serving.start();
  await serving.warmUp.start();
  const connectionLimit = assembleConnectionLimit(metrics, log);
  const { server, admin } = await startServers(
    { engine, connectionLimit },
    config,
    worker?.port,
    serving,
  );
  address = config.publicUrl ?? `http://${reachableHost(config.host)}:${server.port}`;
  fleet.start();
  serving.keyUses.start();
  serving.ddiCredentials.start();
  serving.unstored.start();
  background?.start();
  const close = (): void => {
    serving.close();
    server.stopAccepting();
    admin?.stopAccepting();
  };
  return {
    address,
    port: server.port,
    adminPort: admin?.port,
    state: serving.state,
    follow: serving.follow,
    drain: serving.drain,
    reload: reloadable(log, [secrets, ...(background === undefined ? [] : [background]), stores]),
    close,
    async stop() {
      const deadline = performance.now() + IN_FLIGHT_WAIT_MS_MAX;
      close();
      await serving.traffic.drain(IN_FLIGHT_WAIT_MS_MAX);
      server.close();
      admin?.close();
      clockWatch.stop();
      await Promise.all([
        serving.refresher.stop(),
        serving.knownPoll.stop(),
        serving.warmUp.stop(),
      ]);
      // Buffered check-ins go to the engine first, where the drain finds them.
      await fleet.stop(deadline);
      await serving.unstored.stop();
      await background?.stop();
      await serving.keyUses.stop();
      await serving.ddiCredentials.stop();
      await serving.notes.stop();
      await serving.diskSnapshots.flush();
      await stores.engine.close();
      await stores.ledger.close();
      await tracing?.stop();
    },
  };
}

/** Listens on the service's port, `sharedPort` if several processes share it, and on the admin address. */
async function startServers(
  front: Pick<ServerOptions, 'engine' | 'connectionLimit'>,
  config: Config,
  sharedPort: number | undefined,
  { handlers, adminRouter }: Serving,
): Promise<{ readonly server: Server; readonly admin: Server | undefined }> {
  const server = await fromSetting('HOST, PORT', () =>
    startServer({
      ...front,
      host: config.host,
      port: sharedPort ?? config.port,
      isPortShared: sharedPort !== undefined,
      ...handlers,
    }),
  );
  const admin = await startAdminServer(front, config, adminRouter);
  return { server, admin };
}

/** Listens on the admin address, if this process serves it. */
async function startAdminServer(
  front: Pick<ServerOptions, 'engine' | 'connectionLimit'>,
  { adminListen }: Config,
  router: RequestHandler | undefined,
): Promise<Server | undefined> {
  if (adminListen === undefined || router === undefined) return undefined;
  return fromSetting('ADMIN_LISTEN', () =>
    startServer({ ...front, ...adminListen, isPortShared: false, direct: {}, router }),
  );
}

/** Assembles the routes for edges, and the index that they follow, which the caller starts. */
function assembleFollowed({
  config,
  secrets,
  log,
  rareLog,
  metrics,
  stores,
  fleet,
  catalogs,
  firstOffers,
}: ServingOptions & Pick<Parts, 'rareLog' | 'catalogs' | 'firstOffers'>): {
  readonly routes: readonly Route[];
  readonly index: EdgeIndex;
} {
  const { ledger, engine } = stores;
  const now = () => fleet.clock.now();
  const index = new EdgeIndex({ ledger, now, metrics, log: rareLog });
  metrics.gauge(
    'sluice_edges_waiting',
    'Edges that wait for a change of what they follow',
    () => index.waitingCount,
  );
  const devices = new EdgeDevices({
    ledger,
    queue: engine,
    isQueueInProcess: config.redisUrl === undefined,
    admission: assembleAdmission(config, ledger, log, rememberRecorded(engine)),
    labels: fleet.labels,
    servedOf: (scope, appIds) => index.servedOf(scope, appIds),
  });
  const routes = edgeRoutes({
    edges: new AuthenticateEdge(ledger),
    signer: secrets.signer,
    index,
    ahead: new EdgeAhead({ index, signer: secrets.signer, ledger, report: stores.report }),
    snapshots: new EdgeSnapshots({ catalogs, index, firstOffers }),
    devices,
    now,
  });
  return { routes, index };
}
