// The process of an edge: a node without stores, which follows a service and makes the same decisions. It
// answers devices with the same parts as every node.

import { join } from 'node:path';
import { Unavailable } from '../../contract/store-fault.ts';
import { joinBatches, packCheckInPayload } from '../../domain/fleet/check-in-payload.ts';
import {
  FollowedFile,
  FollowedState,
  type IndexRefusal,
  ProvenDiskSnapshots,
} from '../../edge/followed-state.ts';
import { Follower } from '../../edge/follower.ts';
import { CheckInJournalFiles } from '../../edge/journal-files.ts';
import {
  JournalSender,
  joinFailures,
  journalFailures,
  RecordedMark,
  uploadCall,
} from '../../edge/journal-sender.ts';
import {
  describeFailure,
  isTokenRefused,
  readCredential,
  UpstreamClient,
} from '../../edge/upstream-client.ts';
import { UpstreamLedger } from '../../edge/upstream-ledger.ts';
import { FailureReports } from '../../fleet/fleet-views.ts';
import { LabelFeed, labelPolls } from '../../fleet/label-feed.ts';
import { ClockWatch } from '../../fleet/ledger-clock.ts';
import { withinTime } from '../../flow/within-time.ts';
import { healthRoutes, metricsRoutes } from '../../http/api/health-routes.ts';
import { failureRoute } from '../../http/device/download-routes.ts';
import { directHandlers } from '../../http/device/updater-route.ts';
import type { HttpEngine } from '../../http/transport/engine.ts';
import { createRouter, type Route } from '../../http/transport/router.ts';
import { type Server, startServer } from '../../http/transport/server.ts';
import type { Log } from '../../observe/log.ts';
import { Metrics } from '../../observe/metrics.ts';
import { RareLog } from '../../observe/rare-log.ts';
import type { StoreHealth } from '../../observe/store-health.ts';
import { type DirectoryLock, lockDirectory } from '../../process/directory-lock.ts';
import { RememberedChannels } from '../../serving/ledger-recovery.ts';
import type { EdgeConfig } from '../../settings/edge-settings.ts';
import { type Config, ConfigError, reachableHost } from '../../settings/settings.ts';
import type { CheckInJournal } from '../../store/check-in-queue.ts';
import { type DiskFault, DiskSnapshotFiles } from '../../store/disk/disk-snapshot-files.ts';
import type { Engine } from '../../store/engine.ts';
import { createMemoryEngine } from '../../store/memory/memory-engine.ts';
import { makeDataDirectory } from '../assemble/data-directory.ts';
import { assembleDeviceSide, type DeviceSide } from '../assemble/device-side.ts';
import { chooseHttpEngine, tellHttpEngine } from '../assemble/http-engine.ts';
import { assembleConnectionLimit, openTracing } from '../assemble/observe-requests.ts';
import {
  assembleFleet,
  type Fleet,
  IN_FLIGHT_WAIT_MS_MAX,
  watchQueue,
} from '../assemble/shared-parts.ts';
import {
  fromSetting,
  LoggedLedgerReport,
  type ServingStores,
  type StoresOptions,
  tellDiskFaults,
  watchDisk,
} from '../assemble/stores.ts';
import { watchStore } from '../assemble/watch-stores.ts';
import { build } from '../version.ts';

/**
 * Milliseconds between two comparisons of clocks. Each costs the upstream as much as a call for the index,
 * and a stopwatch drifts by less than a millisecond in that time.
 */
const CLOCK_INTERVAL_MS = 15_000;
/** Longest wait of a start for the upstream; then the edge starts with the snapshots on its disk. */
const UPSTREAM_WAIT_MS_MAX = 1000;

/** Starts an edge; rejects when the port is taken or the directory cannot be used. */
export async function composeEdge(config: EdgeConfig, log: Log) {
  const engine = await chooseHttpEngine(config);
  tellHttpEngine(engine, config, log);
  const metrics = new Metrics('main', { ...build(), engine: engine.name });
  const tracing = await openTracing(config, log, undefined);
  const stores = await openEdgeStores({ config, log, metrics, tracing });
  const fleet = assembleFleet(config, stores, metrics, log);
  let address = config.publicUrl ?? '';
  const rareLog = new RareLog(log);
  const devices = assembleDeviceSide({
    ...{ config, log, rareLog, metrics, stores, fleet, tracing },
    address: () => address,
  });
  const work = assembleWork(stores, fleet, metrics, log);
  await stores.follower.start();
  await withinTime(stores.follower.first, UPSTREAM_WAIT_MS_MAX);
  // Before the first check, because its check-in gets the ledger's time.
  await work.clockWatch.start();
  // Before the first request: an announcement that arrives while a channel loads must not be missed.
  devices.refresher.start(stores.engine);
  devices.knownPoll.start(stores.engine);
  await devices.warmUp.start();
  const routes = assembleRoutes(config, { devices, stores, fleet, metrics });
  const servers = await listen(engine, config, log, metrics, devices, routes);
  address = config.publicUrl ?? `http://${reachableHost(config.host)}:${servers.main.port}`;
  fleet.start();
  stores.recorded.start();
  work.labelFeed.start();
  // Only after the upstream has named its record, because check-ins and failures belong to a record.
  void stores.follower.first.then(() => {
    work.checkInSender.start();
    work.failureSender.start();
  });
  return {
    /** Base URL of the edge, for the log and for feeds. */
    address,
    port: servers.main.port,
    /** Port of the admin address; undefined without ADMIN_LISTEN. */
    adminPort: servers.admin?.port,
    /** Makes the edge not ready, and each reply the last of its connection; still accepts connections. */
    drain() {
      devices.readiness.drain();
      devices.traffic.endConnections();
    },
    /** Uses a changed token. */
    async reload({ edge: { token } }: Config) {
      if (token === undefined) throw new ConfigError('EDGE_TOKEN: an edge needs one');
      stores.client.use(credentialOf(token));
    },
    /** Stops accepting, finishes the requests in flight and closes everything. */
    async stop() {
      devices.readiness.drain();
      servers.main.stopAccepting();
      servers.admin?.stopAccepting();
      await devices.traffic.drain(IN_FLIGHT_WAIT_MS_MAX);
      servers.main.close();
      servers.admin?.close();
      await stopServing(devices, fleet, work);
      await closeStores(stores, work);
      await tracing?.stop();
    },
  };
}

/** Work of an edge besides answering. */
type Work = ReturnType<typeof assembleWork>;

function assembleWork(
  { ledger, engine, journal, failureJournal, client, recorded }: EdgeStores,
  { clock }: Fleet,
  metrics: Metrics,
  log: Log,
) {
  const rareLog = new RareLog(log);
  watchQueue(metrics, {
    entries: () => journal.count,
    bytes: () => journal.bytes,
    ageMs: () => journal.ageMs,
  });
  const feed = new LabelFeed({ ledger, engine, log });
  // Follows changes only once this edge has labels that may change.
  const follow = async () => {
    const followed = ledger.keepsLabels ? await feed.feed() : undefined;
    if (followed?.recordedUntil !== undefined) recorded.follow(followed.recordedUntil);
  };
  const onFault = (error: unknown) => {
    metrics.faults.add('hand-over');
    if (error instanceof Unavailable) return;
    rareLog.warn({ err: error }, 'check-ins could not be handed over');
  };
  const checkInSender = new JournalSender({
    journal,
    send: uploadCall(client, 'check-ins', joinBatches),
    onUploaded({ accepted, dropped }) {
      if (accepted > 0) metrics.checkIns.add('handed-over', accepted);
      if (dropped === 0) return;
      metrics.checkIns.add('dropped', dropped);
      rareLog.warn({ dropped }, 'check-ins of apps that the upstream does not have were dropped');
    },
    onRefused(error) {
      metrics.checkIns.add('dropped');
      log.error({ err: error }, 'check-ins were refused by the upstream, and are dropped');
    },
    onFault,
  });
  const failureSender = new JournalSender({
    journal: failureJournal,
    send: uploadCall(client, 'failures', joinFailures),
    // One batch per call, because the endpoint limits the failures of a call.
    callBytesMax: 1,
    onUploaded: () => undefined,
    onRefused: (error) =>
      log.error({ err: error }, 'failures were refused by the upstream, and are dropped'),
    onFault,
  });
  return {
    clockWatch: new ClockWatch({
      ...{ clock, metrics, log, isTelling: true },
      intervalMs: CLOCK_INTERVAL_MS,
    }),
    labelFeed: labelPolls(follow, metrics, log),
    checkInSender,
    failureSender,
  };
}

/** Routes of the service's port, and of the admin address if there is one. */
type Routes = { readonly main: readonly Route[]; readonly admin: readonly Route[] | undefined };

function assembleRoutes(
  { trustProxy, adminListen }: EdgeConfig,
  parts: {
    readonly devices: DeviceSide;
    readonly stores: EdgeStores;
    readonly fleet: Fleet;
    readonly metrics: Metrics;
  },
): Routes {
  const { catalogs, gate, health, routes } = parts.devices;
  const { fleet, metrics } = parts;
  const { checkIns, clock } = fleet;
  const ledger = journalFailures(parts.stores.failureJournal);
  const failures = new FailureReports({ ledger, checkIns, clock, metrics });
  const healthOfEdge = healthRoutes(() => health.state());
  const figures = metricsRoutes(() => metrics.registry.metrics());
  const main = [...routes, failureRoute({ catalogs, gate, failures, trustProxy }), ...healthOfEdge];
  if (adminListen === undefined) return { main: [...main, ...figures], admin: undefined };
  return { main, admin: [...healthOfEdge, ...figures] };
}

async function listen(
  engine: HttpEngine,
  { host, port, adminListen }: EdgeConfig,
  log: Log,
  metrics: Metrics,
  { updaters, traffic }: DeviceSide,
  routes: Routes,
): Promise<{ readonly main: Server; readonly admin: Server | undefined }> {
  const shared = {
    engine,
    isPortShared: false,
    connectionLimit: assembleConnectionLimit(metrics, log),
  };
  const direct = directHandlers(updaters);
  const router = createRouter(routes.main, traffic);
  const main = await fromSetting('HOST, PORT', () =>
    startServer({ host, port, ...shared, direct, router }),
  );
  if (adminListen === undefined || routes.admin === undefined) return { main, admin: undefined };
  const adminRouter = createRouter(routes.admin, traffic);
  const admin = await fromSetting('ADMIN_LISTEN', () =>
    startServer({ ...adminListen, ...shared, direct: {}, router: adminRouter }),
  );
  return { main, admin };
}

async function stopServing(devices: DeviceSide, fleet: Fleet, work: Work): Promise<void> {
  work.clockWatch.stop();
  void work.labelFeed.stop();
  await Promise.all([devices.refresher.stop(), devices.knownPoll.stop(), devices.warmUp.stop()]);
  // Buffered check-ins go into the journal, and to the upstream after the next start.
  await fleet.stop();
  await devices.notes.stop();
}

async function closeStores(stores: EdgeStores, work: Work): Promise<void> {
  void stores.recorded.stop();
  const { checkInSender, failureSender } = work;
  const stopped = Promise.all([
    ...[checkInSender.stop(), failureSender.stop()],
    stores.follower.stop(),
  ]);
  // Ends the calls that the senders and the follower may be waiting for.
  await stores.ledger.close();
  await stopped;
  await Promise.all([stores.journal.close(), stores.failureJournal.close()]);
  await stores.diskSnapshots.flush();
  await stores.engine.close();
  stores.lock.release();
}

type EdgeStores = ServingStores & {
  readonly ledger: UpstreamLedger;
  readonly journal: CheckInJournal;
  /** Failures reported by devices, on their way to the upstream. */
  readonly failureJournal: CheckInJournal;
  readonly client: UpstreamClient;
  readonly follower: Follower;
  readonly recorded: RecordedMark;
  /** Lock of the directory; released after everything else is closed. */
  readonly lock: DirectoryLock;
  readonly healths: readonly StoreHealth[];
};

type EdgeStoresOptions = Pick<StoresOptions, 'log' | 'metrics' | 'tracing'> & {
  readonly config: EdgeConfig;
};

const BYTES_PER_MB = 1024 * 1024;
/** Journals, each in a directory of its name. */
const JOURNALS = ['check-ins', 'failures'] as const;
/** Maximum size of the journal of failures, enough for some hundred thousand. */
const FAILURES_MB = 64;

/** Why the edge does not follow the service that answers at its upstream's address. */
const REFUSED: Readonly<Record<IndexRefusal, string>> = {
  foreign: 'what answers as the upstream is of another record, and is not followed',
  replayed: 'what answers as the upstream is behind what this edge knows, and is not followed',
};

/** Opens the stores of an edge; rejects with a `ConfigError` when its directory cannot be used. */
async function openEdgeStores(options: EdgeStoresOptions): Promise<EdgeStores> {
  const { config, log, metrics } = options;
  const directory = edgeDirectory(config);
  const onDiskFault = tellDiskFaults(metrics, log);
  watchDisk(metrics, config.dataDir);
  const { journal, failureJournal, lock } = await openDirectory(options, directory);
  const state = new FollowedState();
  const files = new DiskSnapshotFiles(directory, undefined, onDiskFault);
  const diskSnapshots = new ProvenDiskSnapshots(files, state);
  const recorded = new RecordedMark(journal);
  const hotState = createMemoryEngine({ labelNotesEndedBefore: () => recorded.before });
  const upstream = openUpstream(options, state, hotState, onDiskFault);
  const engine = engineWith(hotState, journal, () => upstream.ledger.noteLabels());
  const memory = new RememberedChannels(diskSnapshots, engine);
  const report = new LoggedLedgerReport(metrics, log, {
    isServing: true,
    onLost(channels) {
      const lost = memory.forget(channels);
      for (const { appRef, channel } of lost) diskSnapshots.forget(appRef, channel);
      return lost;
    },
    onAdmitted: () => undefined,
    onForeign: () => undefined,
  });
  const watched = watchStore('upstream', upstream.ledger, {
    ...options,
    reasonOf: upstream.reasonOf,
  });
  return {
    ...{ engine, diskSnapshots, memory, report, journal, failureJournal, recorded, lock },
    ...{ ...upstream, ledger: watched.port, healths: [watched.health] },
    refusalOf: (store) => {
      const { refusal } = upstream.follower;
      return store === 'upstream' && refusal !== undefined ? REFUSED[refusal] : undefined;
    },
  };
}

/** Creates and locks the directory of an edge, and opens its journals. */
async function openDirectory(
  { config, log, metrics }: EdgeStoresOptions,
  directory: string,
): Promise<Pick<EdgeStores, 'journal' | 'failureJournal' | 'lock'>> {
  const rareLog = new RareLog(log);
  for (const each of [directory, ...JOURNALS.map((name) => join(directory, name))]) {
    await fromSetting('DATA_DIR', () => makeDataDirectory(each));
  }
  const lock = await fromSetting('DATA_DIR', () => lockDirectory(directory, onLockLost));
  const bytesMax = config.edge.journalMb * BYTES_PER_MB;
  metrics.gauge(
    'sluice_edge_journal_bytes_max',
    'Bytes of check-ins at which the journal takes no more',
    () => bytesMax,
  );
  const openJournal = (name: (typeof JOURNALS)[number], bytes: number) =>
    fromSetting('DATA_DIR', () =>
      CheckInJournalFiles.open({
        directory: join(directory, name),
        bytesMax: bytes,
        onFault(path, error) {
          metrics.faults.add('disk');
          rareLog.warn({ err: error, file: path }, JOURNAL_FAULT);
        },
      }),
    );
  const journal = await openJournal('check-ins', bytesMax);
  const failureJournal = await openJournal('failures', FAILURES_MB * BYTES_PER_MB);
  return { journal, failureJournal, lock };
}

/**
 * Ends the process by an uncaught error, because another edge writes the same files now, and each would lose
 * check-ins of the other.
 */
function onLockLost(): void {
  throw new Error('another process has taken over the lock of DATA_DIR');
}

/** Returns the directory of an edge, apart from the files of a node in the same DATA_DIR. */
function edgeDirectory({ dataDir }: Pick<EdgeConfig, 'dataDir'>): string {
  return join(dataDir, 'edge');
}

/** Parses the token of the settings; throws a `ConfigError` if it is malformed. */
function credentialOf(token: string) {
  const credential = readCredential(token);
  if (credential !== undefined) return credential;
  throw new ConfigError('EDGE_TOKEN: is not what `sluice edge-token create` has printed');
}

const JOURNAL_FAULT = 'the journal of check-ins is damaged, or could not be written';

function openUpstream(
  { config, log, metrics }: EdgeStoresOptions,
  state: FollowedState,
  engine: Engine,
  onDiskFault: (fault: DiskFault) => void,
): Pick<EdgeStores, 'client' | 'follower' | 'ledger'> & { reasonOf(error: unknown): string } {
  const rareLog = new RareLog(log);
  const path = join(edgeDirectory(config), 'followed');
  const client = new UpstreamClient({
    url: config.edge.upstream,
    credential: credentialOf(config.edge.token),
    record: () => state.record,
    onRefused: (reason, call) => {
      metrics.edgeRefusals.add(reason);
      rareLog.warnAbout(reason, { reason, call }, 'an answer of the upstream was refused');
    },
  });
  let lastFailure: unknown;
  /** Time since which the upstream refuses the token (RFC 3339); calls without an answer do not reset it. */
  let tokenRefusedAt: string | undefined;
  const follower = new Follower({
    client,
    state,
    file: new FollowedFile(path, (error) => onDiskFault({ doing: 'write', path, error })),
    announce(lost) {
      for (const each of lost) void engine.announce(each);
    },
    onContact(failure) {
      lastFailure = failure;
      if (failure === undefined) tokenRefusedAt = undefined;
      else metrics.faults.add('upstream-follow');
      if (isTokenRefused(failure) && tokenRefusedAt === undefined) {
        tokenRefusedAt = new Date().toISOString();
        log.warn({ err: failure }, 'the upstream refuses the token of this edge');
      }
      log.debug({ err: failure }, 'the upstream was asked');
    },
    onDamaged: (error) => onDiskFault({ doing: 'read', path, error }),
  });
  const ledger = new UpstreamLedger({ client, state, follower, lastFailure: () => lastFailure });
  const reasonOf = (error: unknown): string =>
    isTokenRefused(error) && tokenRefusedAt !== undefined
      ? `it refuses the token of this edge since ${tokenRefusedAt}`
      : describeFailure(error);
  return { client, follower, ledger, reasonOf };
}

/**
 * Returns an engine in this process that appends check-ins to the journal instead of a queue. Calls
 * `onLabels` for check-ins with labels.
 */
function engineWith(hotState: Engine, journal: CheckInJournal, onLabels: () => void): Engine {
  return {
    ...hotState,
    appendCheckIns(checkIns) {
      if (checkIns.labels.size > 0) onLabels();
      return journal.append(packCheckInPayload(checkIns, (length) => Buffer.alloc(length)));
    },
    countCheckIns: async () => journal.count,
    ageOfCheckIns: async () => journal.ageMs,
    weighCheckIns: async () => journal.bytes,
  };
}
