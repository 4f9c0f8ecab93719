// HTTP engines that load on this machine: both on a Node for which uWebSockets.js has a binary.

import { type EngineName, type HttpEngine, loadEngine } from '../../src/http/transport/engine.ts';

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
