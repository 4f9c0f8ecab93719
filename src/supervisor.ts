// Supervisor of a service of several processes: it starts the serving processes on one port and the
// background process, restarts those that end or hang, and stops all of them together. It serves no requests
// itself.

import { type Config, ConfigError, reachableHost } from './config.ts';
import type { Log } from './observe/log.ts';
import { Metrics } from './observe/metrics.ts';
import { startBackgroundProcess } from './processes/background-process.ts';
import { claimPort } from './processes/claim-port.ts';
import { KeptProcess } from './processes/kept-process.ts';
import { NodeMetrics } from './processes/node-metrics.ts';
import { Watchdog } from './processes/watchdog.ts';

export type Supervisor = {
  /** Base URL of the service. */
  readonly address: string;
  readonly port: number;
  /** Stops all processes; resolves when they have ended. */
  stop(): Promise<void>;
};

/** Longest wait for a worker to close its port; a worker that is busy for longer closes it later. */
const CLOSE_MS_MAX = 500;
/** Longest stop of a worker: above the worker's own bounds for its stop, below the bound of main.ts. */
const WORKER_STOP_MS_MAX = 8000;

/**
 * Starts `config.workers` serving processes and the background process; resolves when all serving ones are
 * ready. Rejects when the port is taken, or when a serving process ends at its first start before it is
 * ready.
 */
export async function startSupervisor(config: Config, log: Log): Promise<Supervisor> {
  const port = await claimPort(config.host, config.port).catch((error: Error) => {
    throw new ConfigError(`HOST, PORT: ${error.message}`, { cause: error });
  });
  const metrics = new Metrics();
  const nodeMetrics = new NodeMetrics(metrics, log);
  const workers = Array.from(
    { length: config.workers },
    (_, index) =>
      new KeptProcess({
        name: `worker ${index + 1}`,
        args: ['--worker', String(index + 1), String(port)],
        stopMsMax: WORKER_STOP_MS_MAX,
        log,
        metrics,
        sum: () => nodeMetrics.text(),
      }),
  );
  nodeMetrics.include(...workers);
  await Promise.all(workers.map((worker) => worker.start()));
  const background = startBackgroundProcess(log, metrics, nodeMetrics);
  const watchdog = new Watchdog([...workers, background]);
  return {
    address: config.publicUrl ?? `http://${reachableHost(config.host)}:${port}`,
    port,
    async stop() {
      watchdog.stop();
      // All workers close the port before any ends its connections: a client whose connection one worker ends
      // would connect to another, and lose its request if that one closes the port before it accepts the
      // connection.
      await Promise.all(workers.map((worker) => worker.close(CLOSE_MS_MAX)));
      await Promise.all(workers.map((worker) => worker.stop()));
      // The background process stops last, so that it can still record what the workers handed on.
      await background.stop();
    },
  };
}
