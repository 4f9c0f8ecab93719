// Assembles what observes and limits requests: access log, tracing, metrics, and the number of connections
// that a process may have open.

import { readFileSync } from 'node:fs';
import {
  AccessLog,
  RequestTracing,
  type RequestWatcher,
  watchTogether,
} from '../http/request-observation.ts';
import { ConnectionLimit } from '../http/server.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import { RareLog } from '../observe/rare-log.ts';
import type { Tracing } from '../observe/tracing.ts';
import type { Config } from '../settings/settings.ts';

/**
 * File descriptors kept for everything else: 10 connections to PostgreSQL, up to some 20 to Redis, files of
 * snapshots, pipes to other processes, and those of Node.js. A process at work has about 60 of them.
 */
const RESERVED = 128;

/** Line of the limit, with the number that counts (soft) and the one that the process may raise it to. */
const OPEN_FILES = /^Max open files +(\S+)/m;

/**
 * Returns the maximum number of client connections: the limit of descriptors less the reserve, or half of a
 * limit that is lower than twice the reserve. Undefined where the system has no limit, or does not tell it as
 * Linux does. `limits` is the content of /proc/self/limits.
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

// Watching of requests as the settings ask for it.

/** Builds the watcher of the requests to a process; undefined when nobody asks for one. */
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

// Tracing as the settings ask for it.

/** Starts tracing for a serving process; undefined, and nothing is loaded, unless traces are asked for. */
export async function openTracing(
  { tracing }: Config,
  log: Log,
  worker: number | undefined,
): Promise<Tracing | undefined> {
  if (tracing === undefined) return undefined;
  const { startOtelTracing } = await import('../observe/otel-tracing.ts');
  const process = worker === undefined ? 'main' : `worker-${worker}`;
  const resource = { 'sluice.process': process };
  return startOtelTracing({ ...tracing, resource, log: new RareLog(log) });
}

// Assembly of the bound on the connections of clients.

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
