// Decides how many processes the service is.
//
//   embedded ledger, or in-process engine:   one, which does everything
//   DATABASE_URL and REDIS_URL:              one that serves, and one for the background work
//   the same with WORKERS above 1:           a supervisor, that many that serve, and the background

import { composeService } from './compose/service.ts';
import type { Config } from './config.ts';
import type { Log } from './observe/log.ts';
import { Metrics } from './observe/metrics.ts';
import { startBackgroundProcess } from './processes/background-process.ts';
import { NodeFigures } from './processes/node-figures.ts';
import { startSupervisor } from './supervisor.ts';

export type RunningService = {
  /** Where it can be called, as printed and put into feeds. */
  readonly address: string;
  readonly port: number;
  /** Finishes what is in flight and ends everything that was started. */
  stop(): Promise<void>;
};

/** Starts everything; rejects, with one line that names the setting at fault, when that cannot work. */
export function startService(config: Config, log: Log): Promise<RunningService> {
  if (config.workers > 1) return startSupervisor(config, log);
  const isShared = config.databaseUrl !== undefined && config.redisUrl !== undefined;
  return isShared ? serveBesideBackground(config, log) : serveAlone(config, log);
}

function serveAlone(config: Config, log: Log): Promise<RunningService> {
  const metrics = new Metrics();
  const figures = () => metrics.registry.metrics();
  return composeService(config, log, { metrics, figures, hasBackground: true });
}

async function serveBesideBackground(config: Config, log: Log): Promise<RunningService> {
  const metrics = new Metrics();
  const figures = new NodeFigures(metrics, log);
  const service = await composeService(config, log, {
    metrics,
    figures: () => figures.text(),
    hasBackground: false,
  });
  const background = startBackgroundProcess(log, metrics, figures);
  return {
    ...service,
    async stop() {
      await service.stop();
      await background.stop();
    },
  };
}
