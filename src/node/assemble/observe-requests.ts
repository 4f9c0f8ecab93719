// Assembles the access log, tracing, and the limit on client connections of a process.

import { readFileSync } from 'node:fs';
import {
  AccessLog,
  RequestTracing,
  type RequestWatcher,
  watchTogether,
} from '../../http/transport/request-observation.ts';
import { ConnectionLimit } from '../../http/transport/server.ts';
import type { Log } from '../../observe/log.ts';
import type { Metrics } from '../../observe/metrics.ts';
import { RareLog } from '../../observe/rare-log.ts';
import type { Tracing } from '../../observe/tracing.ts';
import type { Config } from '../../settings/settings.ts';

/**
 * File descriptors reserved for everything else: 10 PostgreSQL connections, some 20 to Redis, snapshot files,
 * pipes, and those of Node.js. A busy process has about 60 of them.
 */
const RESERVED = 128;

/** Line of the limit on open files; captures the soft limit, which applies. */
const OPEN_FILES = /^Max open files +(\S+)/m;

/**
 * Returns the maximum number of client connections: the descriptor limit less the reserve, but at least half
 * of it. Undefined if there is no limit or the system is not Linux. `limits` is the content of
 * /proc/self/limits.
 */
export function clientConnectionsMax(limits = readLimits()): number | undefined {
  const descriptors = Number(OPEN_FILES.exec(limits)?.[1]);
  if (!Number.isSafeInteger(descriptors)) return undefined;
  return Math.max(descriptors - RESERVED, Math.floor(descriptors / 2));
}

function readLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8');
  } catch {
    return '';
  }
}

/** Assembles the watcher of a process's requests; undefined if the settings ask for none. */
export function requestWatcher(
  { hasAccessLog, trustProxy }: Config,
  log: Log,
  tracing?: Tracing,
): RequestWatcher | undefined {
  const watchers: RequestWatcher[] = [];
  if (tracing !== undefined) watchers.push(new RequestTracing(tracing));
  if (hasAccessLog) watchers.push(new AccessLog(log, trustProxy));
  return watchTogether(watchers);
}

/** Starts tracing for a serving process; loads nothing and returns undefined unless configured. */
export async function openTracing(
  { tracing }: Config,
  log: Log,
  worker: number | undefined,
): Promise<Tracing | undefined> {
  if (tracing === undefined) return undefined;
  const { startOtelTracing } = await import('../../observe/otel-tracing.ts');
  const process = worker === undefined ? 'main' : `worker-${worker}`;
  const resource = { 'sluice.process': process };
  return startOtelTracing({ ...tracing, resource, log: new RareLog(log) });
}

/** Assembles the connection limit of all addresses of a process; it leaves descriptors for the stores. */
export function assembleConnectionLimit(metrics: Metrics, log: Log): ConnectionLimit {
  const { connections } = metrics;
  const connectionsMax = clientConnectionsMax();
  const limit = new ConnectionLimit({ connectionsMax, connections, log: new RareLog(log) });
  metrics.gauge('sluice_connections_open', 'Open connections of clients', () => limit.open);
  return limit;
}
