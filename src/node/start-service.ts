// Starts the service with as many processes as its settings ask for:
//
//   embedded ledger, or in-process engine:      one process, which does everything
//   DATABASE_URL and REDIS_URL:                 one serving process, and a background process
//   the same, and WORKERS above 1:              a supervisor, WORKERS serving processes, a background process
//   the same, and ADMIN_LISTEN:                 a supervisor as well, and an admin process

import type { Log } from '../observe/log.ts';
import { Metrics } from '../observe/metrics.ts';
import type { Config } from '../settings/settings.ts';
import { NodeCalls } from './node-calls.ts';
import { NodeMetrics } from './node-metrics.ts';
import { NodeSettings } from './node-settings.ts';
import { startBackgroundProcess } from './processes-background-process.ts';
import { composeService } from './service.ts';
import { refuseBadAddresses } from './stores.ts';
import { startSupervisor } from './supervisor.ts';
import { version } from './version.ts';
import { Watchdog } from './watchdog.ts';

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
