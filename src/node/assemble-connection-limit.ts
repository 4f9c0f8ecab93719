// Assembly of the bound on the connections of clients.

import { ConnectionLimit } from '../http/server.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { RareLog } from '../observe/rare-log.ts';
import { clientConnectionsMax } from './observe-requests.ts';

/**
 * Builds the bound for all addresses that a process listens on, so that file descriptors are left for the
 * stores.
 */
export function assembleConnectionLimit(metrics: Metrics, log: Log): ConnectionLimit {
  const { connections } = metrics;
  const connectionsMax = clientConnectionsMax();
  const limit = new ConnectionLimit({ connectionsMax, connections, log: new RareLog(log) });
  metrics.gauge('sluice_connections_open', 'Open connections of clients', () => limit.open);
  return limit;
}
