// Entry point of an edge (`sluice edge`): reads the settings, starts it and stops it on a signal.

import { readEdgeConfig } from '../settings/edge-settings.ts';
import { composeEdge } from './edge-process.ts';
import { runUntilSignal } from './run-until-signal.ts';

/**
 * Starts an edge that runs until a signal stops it; `upstream` takes the place of EDGE_UPSTREAM. Rejects with
 * a `ConfigError` when a setting is wrong, and ends the process when one cannot be used.
 */
export async function runEdge(upstream: string | undefined): Promise<void> {
  const config = readEdgeConfig(upstream);
  const { service: edge, log } = await runUntilSignal(config, composeEdge);
  const { address, port, adminPort } = edge;
  const admin = adminPort === undefined ? {} : { adminPort };
  log.info({ address, port, ...admin, upstream: config.edge.upstream }, 'listening');
}
