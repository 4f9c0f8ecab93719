// Entry point of an edge (`sluice edge`): reads the settings, starts it and stops it on a signal.

import { composeEdge, type Edge } from './compose/edge.ts';
import { type EdgeConfig, readEdgeConfig } from './edge-config.ts';
import { exitOnBug } from './observe/exit-on-bug.ts';
import { createLog, type Log } from './observe/log.ts';
import { reloadOnSignal } from './reload-on-signal.ts';
import { stopOnSignal } from './stop-on-signal.ts';
import { tellNearSettings } from './tell-near-settings.ts';

/**
 * Starts an edge that runs until a signal stops it; `upstream` takes the place of EDGE_UPSTREAM. Rejects with
 * a `ConfigError` when a setting is wrong, and ends the process when one cannot be used.
 */
export async function runEdge(upstream: string | undefined): Promise<void> {
  const config = readEdgeConfig(upstream);
  const log = createLog(config.logLevel);
  exitOnBug(log);
  tellNearSettings(log);
  const running = stopOnSignal(config, log);
  const reloading = reloadOnSignal(log);
  const edge = await start(config, log);
  running(edge);
  reloading(edge, config);
  const { address, port, adminPort } = edge;
  const admin = adminPort === undefined ? {} : { adminPort };
  log.info({ address, port, ...admin, upstream: config.edge.upstream }, 'listening');
}

async function start(config: EdgeConfig, log: Log): Promise<Edge> {
  try {
    return await composeEdge(config, log);
  } catch (error) {
    log.fatal({ err: error }, 'cannot start');
    const reason = error instanceof Error ? error.message : String(error);
    process.stderr.write(`sluice: ${reason.replace(/\s+/g, ' ')}\n`);
    process.exit(1);
  }
}
