// HTTP engines that load on this machine: both on a Node for which uWebSockets.js has a binary; and servers
// on them, for tests of the transport.

import { type EngineName, type HttpEngine, loadEngine } from '../../src/http/transport/engine.ts';
import { Traffic } from '../../src/http/transport/request-observation.ts';
import { createRouter, type Route } from '../../src/http/transport/router.ts';
import { startServer } from '../../src/http/transport/server.ts';
import { createLog } from '../../src/observe/log.ts';
import { Metrics } from '../../src/observe/metrics.ts';

const ALL: readonly EngineName[] = ['uws', 'node'];

/** Loads the engines; prints why one does not load. */
export async function httpEngines(): Promise<readonly (readonly [EngineName, HttpEngine])[]> {
  const loaded = await Promise.all(
    ALL.map((name) =>
      loadEngine(name).catch((error: Error) => {
        console.log(`not on ${name}: ${error.message}`);
        return undefined;
      }),
    ),
  );
  return loaded.flatMap((engine) => (engine === undefined ? [] : [[engine.name, engine] as const]));
}

/** Returns the traffic of a node that logs nothing. */
export function silentTraffic(): Traffic {
  return new Traffic(createLog('silent'), new Metrics());
}

/** Starts a server on a free port of the loopback interface. */
export function serveOn(
  engine: HttpEngine,
  routes: readonly Route[],
  parts: Partial<Parameters<typeof startServer>[0]> = {},
) {
  const place = { host: '127.0.0.1', port: 0, isPortShared: false, direct: {} };
  const router = createRouter(routes, silentTraffic());
  return startServer({ engine, ...place, router, ...parts });
}
