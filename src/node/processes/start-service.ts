// Starts the service with the processes that its settings need:
//
//   embedded ledger, or in-process engine:      one process, which does everything
//   DATABASE_URL and REDIS_URL:                 one serving process, and a background process
//   the same, and WORKERS above 1:              a supervisor, WORKERS serving processes, a background process
//   the same, and ADMIN_LISTEN:                 also a supervisor, and an admin process

import type { HttpEngine } from '../../http/transport/engine.ts';
import type { Log } from '../../observe/log.ts';
import { Metrics } from '../../observe/metrics.ts';
import {
  type Config,
  ConfigError,
  type ListenAddress,
  reachableHost,
} from '../../settings/settings.ts';
import { chooseHttpEngine, tellHttpEngine } from '../assemble/http-engine.ts';
import { refuseBadAddresses } from '../assemble/stores.ts';
import { build } from '../version.ts';
import {
  claimPort,
  NodeCalls,
  NodeMetrics,
  NodeSettings,
  startBackgroundProcess,
} from './node-calls.ts';
import { composeService } from './serving-process.ts';
import { SupervisedProcess, Watchdog } from './supervised-process.ts';

export type RunningService = {
  /** HTTP engine of all processes. */
  readonly engine: HttpEngine;
  /** Base URL of the service, for the log and for feeds. */
  readonly address: string;
  readonly port: number;
  /** Port of the admin address; undefined without ADMIN_LISTEN. */
  readonly adminPort: number | undefined;
  /** Makes the service not ready, and each reply the last of its connection; still accepts connections. */
  drain(): void | Promise<void>;
  /**
   * Uses the settings that may change at run time: secrets, and addresses of the stores. Resolves when every
   * process uses them. Rejects with a `ConfigError`, and changes nothing, for an unusable address.
   */
  reload(config: Config): Promise<void>;
  /** Finishes the requests in flight and ends all started processes. */
  stop(): Promise<void>;
};

/** Starts the service; rejects with one line that names the setting at fault. */
export async function startService(config: Config, log: Log): Promise<RunningService> {
  const engine = await chooseHttpEngine(config);
  tellHttpEngine(engine, config, log);
  const service = await startProcesses(config, log, engine);
  return {
    ...service,
    engine,
    async reload(next) {
      await refuseBadAddresses(next, config);
      await service.reload(next);
    },
  };
}

/** Running service without `engine`, which `startService` adds. */
type StartedService = Omit<RunningService, 'engine'>;

function startProcesses(config: Config, log: Log, engine: HttpEngine): Promise<StartedService> {
  const isShared = config.databaseUrl !== undefined && config.redisUrl !== undefined;
  if (!isShared) return serveAlone(config, log, engine);
  const hasSupervisor = config.workers > 1 || config.adminListen !== undefined;
  return hasSupervisor
    ? startSupervisor(config, log, engine)
    : serveBesideBackground(config, log, engine);
}

function serveAlone(config: Config, log: Log, engine: HttpEngine): Promise<StartedService> {
  const metrics = new Metrics('main', { ...build(), engine: engine.name });
  const readMetrics = () => metrics.registry.metrics();
  return composeService(config, log, { engine, metrics, readMetrics, hasBackground: true });
}

async function serveBesideBackground(
  config: Config,
  log: Log,
  engine: HttpEngine,
): Promise<StartedService> {
  const metrics = new Metrics('main', { ...build(), engine: engine.name });
  const nodeMetrics = new NodeMetrics(metrics, log);
  const service = await composeService(config, log, {
    engine,
    metrics,
    readMetrics: () => nodeMetrics.text(),
    hasBackground: false,
  });
  const settings = new NodeSettings(config.files);
  const calls = new NodeCalls(nodeMetrics, settings);
  const background = startBackgroundProcess(log, metrics, nodeMetrics, calls, engine.name);
  const watchdog = new Watchdog([background]);
  return {
    ...service,
    async reload(next) {
      await Promise.all([service.reload(next), settings.replace(next.files)]);
    },
    async stop() {
      watchdog.stop();
      await service.stop();
      await background.stop();
    },
  };
}

// Supervisor of several processes: starts the serving processes on one port, the background process and, with
// ADMIN_LISTEN, the admin process; restarts those that end or hang; stops all of them. Serves no requests
// itself.

/** Longest wait for a worker to drain or to close its port; a busy worker finishes later. */
const CLOSE_MS_MAX = 500;
/** Longest stop of a worker or the admin process: above their own limits, below the 9 s of the whole stop. */
const STOP_MS_MAX = 8000;

/**
 * Starts `config.workers` serving processes, the admin process and the background process; resolves when all
 * but the background process are ready. Rejects when a port is taken, or when a process ends before it was
 * ready for the first time.
 */
async function startSupervisor(
  config: Config,
  log: Log,
  engine: HttpEngine,
): Promise<StartedService> {
  const port = await claim('HOST, PORT', config);
  const { adminListen } = config;
  const adminPort = adminListen && (await claim('ADMIN_LISTEN', adminListen));
  const metrics = new Metrics('supervisor', { ...build(), engine: engine.name });
  const nodeMetrics = new NodeMetrics(metrics, log);
  const settings = new NodeSettings(config.files);
  const calls = new NodeCalls(nodeMetrics, settings);
  const answer = calls.answer.bind(calls);
  const keep = (name: string, args: readonly string[]) =>
    new SupervisedProcess({ name, args, stopMsMax: STOP_MS_MAX, log, metrics, answer });
  const workers = Array.from({ length: config.workers }, (_, index) =>
    keep(`worker ${index + 1}`, ['--worker', engine.name, String(index + 1), String(port)]),
  );
  const admins =
    adminPort === undefined
      ? []
      : [keep('admin', ['--admin', engine.name, String(adminPort), String(port)])];
  calls.include(...workers);
  nodeMetrics.include(...workers, ...admins);
  settings.include(...workers, ...admins);
  await Promise.all([...workers, ...admins].map(startTold));
  const background = startBackgroundProcess(log, metrics, nodeMetrics, calls, engine.name);
  const watchdog = new Watchdog([...workers, ...admins, background]);
  return {
    address: config.publicUrl ?? `http://${reachableHost(config.host)}:${port}`,
    port,
    adminPort,
    async drain() {
      await Promise.all(workers.map((worker) => worker.drain(CLOSE_MS_MAX)));
    },
    reload: ({ files }) => settings.replace(files),
    async stop() {
      watchdog.stop();
      // All workers close the port before any ends its connections. Otherwise a client whose connection one
      // worker ends could connect to another, which closes the port before it accepts that connection.
      await Promise.all(workers.map((worker) => worker.close(CLOSE_MS_MAX)));
      await Promise.all([...workers, ...admins].map((each) => each.stop()));
      // The background process stops last, to record what the workers sent.
      await background.stop();
    },
  };
}

/** Starts a process. Rejects with a `ConfigError` whose message is the process's own reason, one line. */
async function startTold(started: SupervisedProcess): Promise<void> {
  try {
    await started.start();
  } catch (error) {
    throw new ConfigError(error instanceof Error ? error.message : String(error));
  }
}

/** Returns a free port at an address; rejects with a `ConfigError` that names the variable. */
async function claim(variable: string, { host, port }: ListenAddress): Promise<number> {
  try {
    return await claimPort(host, port);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ConfigError(`${variable}: ${reason}`, { cause: error });
  }
}
