// Several processes as one service: the serving ones on one port, one for the background work, and this
// one, which starts them, restarts those that end, and stops them together. It serves nothing itself.

import { type Config, ConfigError, reachableHost } from './config.ts';
import type { Log } from './observe/log.ts';
import { Metrics } from './observe/metrics.ts';
import { startBackgroundProcess } from './processes/background-process.ts';
import { claimPort } from './processes/claim-port.ts';
import { KeptProcess } from './processes/kept-process.ts';
import { NodeFigures } from './processes/node-figures.ts';

export type Supervisor = {
  /** Where the service can be called. */
  readonly address: string;
  readonly port: number;
  /** Stops all processes; resolves when they have ended. */
  stop(): Promise<void>;
};

/** A worker that is busy for so long closes its port when it comes to it. */
const CLOSE_MS_MAX = 500;
/** Above the bounds that a worker has for what it finishes, below what main.ts gives the whole stop. */
const WORKER_STOP_MS_MAX = 8500;

/**
 * Starts `config.workers` serving processes and the background process; resolves when all that serve are
 * ready. Rejects when the port is taken or the first life of one that serves does not get that far.
 */
export async function startSupervisor(config: Config, log: Log): Promise<Supervisor> {
  const port = await claimPort(config.host, config.port).catch((error: Error) => {
    throw new ConfigError(`HOST, PORT: ${error.message}`, { cause: error });
  });
  const metrics = new Metrics();
  const figures = new NodeFigures(metrics, log);
  const workers = Array.from(
    { length: config.workers },
    (_, index) =>
      new KeptProcess({
        name: `worker ${index + 1}`,
        args: ['--worker', String(index + 1), String(port)],
        stopMsMax: WORKER_STOP_MS_MAX,
        log,
        metrics,
        sum: () => figures.text(),
      }),
  );
  figures.include(...workers);
  await Promise.all(workers.map((worker) => worker.start()));
  const background = startBackgroundProcess(log, metrics, figures);
  return {
    address: config.publicUrl ?? `http://${reachableHost(config.host)}:${port}`,
    port,
    async stop() {
      // First the port, of all of them: a client whose connection one ends would come back to another, and
      // lose its request when that one closes with the connection not yet accepted.
      await Promise.all(workers.map((worker) => worker.close(CLOSE_MS_MAX)));
      await Promise.all(workers.map((worker) => worker.stop()));
      // Last: what the workers still handed on may reach the ledger yet.
      await background.stop();
    },
  };
}
