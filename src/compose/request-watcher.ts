// Watching of requests as the settings ask for it.

import type { Config } from '../config.ts';
import { AccessLog } from '../http/access-log.ts';
import type { RequestWatcher } from '../http/request-watch.ts';
import { watchTogether } from '../http/watch-together.ts';
import type { Log } from '../observe/log.ts';

/** Builds the watcher of the requests to a process; undefined when nobody asks for one. */
export function requestWatcher(config: Config, log: Log): RequestWatcher | undefined {
  const accessLog = config.hasAccessLog ? [new AccessLog(log, config.trustProxy)] : [];
  return watchTogether(accessLog);
}
