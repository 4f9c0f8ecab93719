// Watching of requests as the settings ask for it.

import {
  AccessLog,
  RequestTracing,
  type RequestWatcher,
  watchTogether,
} from '../http/request-observation.ts';
import type { Log } from '../observe/log.ts';
import type { Tracing } from '../observe/tracing.ts';
import type { Config } from '../settings/settings.ts';

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
