// Starts the service with as many processes as its settings ask for:
//
//   embedded ledger, or in-process engine:      one process, which does everything
//   DATABASE_URL and REDIS_URL:                 one serving process, and a background process
//   the same, and WORKERS above 1:              a supervisor, WORKERS serving processes, a background process
//   the same, and ADMIN_LISTEN:                 a supervisor as well, and an admin process

import type { Log } from '../observe/log.ts';
import { Metrics } from '../observe/metrics.ts';
import {
  type Config,
  ConfigError,
  type ListenAddress,
  reachableHost,
} from '../settings/settings.ts';
import {
  claimPort,
  NodeCalls,
  NodeMetrics,
  NodeSettings,
  startBackgroundProcess,
} from './node-calls.ts';
import { composeService } from './serving-process.ts';
import { refuseBadAddresses } from './stores.ts';
import { SupervisedProcess, Watchdog } from './supervised-process.ts';
import { version } from './version.ts';

export type RunningService = {
  /** Base URL of the service, as printed at the start and written into feeds. */
  readonly address: string;
  readonly port: number;
  /** Port of the admin address; undefined without ADMIN_LISTEN. */
  readonly adminPort: number | undefined;
  /** Makes the service not ready, and each reply its connection's last; it goes on accepting. */
  drain(): void | Promise<void>;
  /**
   * Takes over the settings that may change while the service runs: secrets, and the addresses of the stores.
   * Resolves when every process uses them. Rejects with a `ConfigError`, and changes nothing, for an address
   * that cannot be used.
   */
  reload(config: Config): Promise<void>;
  /** Finishes the requests in flight and ends all processes that were started. */
  stop(): Promise<void>;
};

/** Starts the service; rejects, with one line that names the setting at fault, when it cannot run. */
export async function startService(config: Config, log: Log): Promise<RunningService> {
  const service = await startProcesses(config, log);
  return {
    ...service,
    async reload(next) {
      await refuseBadAddresses(next, config);
      await service.reload(next);
    },
  };
}

function startProcesses(config: Config, log: Log): Promise<RunningService> {
  const isShared = config.databaseUrl !== undefined && config.redisUrl !== undefined;
  if (!isShared) return serveAlone(config, log);
  const hasSupervisor = config.workers > 1 || config.adminListen !== undefined;
  return hasSupervisor ? startSupervisor(config, log) : serveBesideBackground(config, log);
}

function serveAlone(config: Config, log: Log): Promise<RunningService> {
  const metrics = new Metrics('main', version());
  const readMetrics = () => metrics.registry.metrics();
  return composeService(config, log, { metrics, readMetrics, hasBackground: true });
}

async function serveBesideBackground(config: Config, log: Log): Promise<RunningService> {
  const metrics = new Metrics('main', version());
  const nodeMetrics = new NodeMetrics(metrics, log);
  const service = await composeService(config, log, {
    metrics,
    readMetrics: () => nodeMetrics.text(),
    hasBackground: false,
  });
  const settings = new NodeSettings(config.files);
  const calls = new NodeCalls(nodeMetrics, settings);
  const background = startBackgroundProcess(log, metrics, nodeMetrics, calls);
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

// Supervisor of a service of several processes: it starts the serving processes on one port, the background
// process and, with ADMIN_LISTEN, the admin process, restarts those that end or hang, and stops all of them
// together. It serves no requests itself.

type Supervisor = {
  /** Base URL of the service. */
  readonly address: string;
  readonly port: number;
  /** Port of the admin address; undefined without ADMIN_LISTEN. */
  readonly adminPort: number | undefined;
  /** Makes all serving processes not ready, and each reply its connection's last; they go on accepting. */
  drain(): Promise<void>;
  /** Makes all processes use the settings that may change while the service runs. */
  reload(config: Config): Promise<void>;
  /** Stops all processes; resolves when they have ended. */
  stop(): Promise<void>;
};

/** Longest wait for a worker to drain or to close its port; one that is busy for longer does so later. */
const CLOSE_MS_MAX = 500;
/**
 * Longest stop of a worker or of the admin process: above their own bounds for a stop, below that of main.ts.
 */
const STOP_MS_MAX = 8000;

/**
 * Starts `config.workers` serving processes, the admin process and the background process; resolves when all
 * but the last are ready. Rejects when a port is taken, or when one of them ends at its first start before it
 * is ready.
 */
async function startSupervisor(config: Config, log: Log): Promise<Supervisor> {
  const port = await claim('HOST, PORT', config);
  const { adminListen } = config;
  const adminPort = adminListen && (await claim('ADMIN_LISTEN', adminListen));
  const metrics = new Metrics('supervisor', version());
  const nodeMetrics = new NodeMetrics(metrics, log);
  const settings = new NodeSettings(config.files);
  const calls = new NodeCalls(nodeMetrics, settings);
  const answer = calls.answer.bind(calls);
  const keep = (name: string, args: readonly string[]) =>
    new SupervisedProcess({ name, args, stopMsMax: STOP_MS_MAX, log, metrics, answer });
  const workers = Array.from({ length: config.workers }, (_, index) =>
    keep(`worker ${index + 1}`, ['--worker', String(index + 1), String(port)]),
  );
  const admins =
    adminPort === undefined ? [] : [keep('admin', ['--admin', String(adminPort), String(port)])];
  calls.include(...workers);
  nodeMetrics.include(...workers, ...admins);
  settings.include(...workers, ...admins);
  await Promise.all([...workers, ...admins].map((each) => each.start()));
  const background = startBackgroundProcess(log, metrics, nodeMetrics, calls);
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
      // All workers close the port before any ends its connections: a client whose connection one worker ends
      // would connect to another, and lose its request if that one closes the port before it accepts the
      // connection.
      await Promise.all(workers.map((worker) => worker.close(CLOSE_MS_MAX)));
      await Promise.all([...workers, ...admins].map((each) => each.stop()));
      // The background process stops last, so that it can still record what the workers handed on.
      await background.stop();
    },
  };
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
