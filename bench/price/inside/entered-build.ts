// Starts a build inside this process: the one process of the embedded service, with its engine in memory, its
// background work, a ledger in memory, and a stub in the place of uWebSockets.js.

import { pathToFileURL } from 'node:url';
import type { Layout } from '../layouts.ts';
import type { StubHandler, StubRoute } from './uws-stub.ts';

/** A build that is ready to be entered. */
export type PreparedBuild = {
  readonly folder: string;
  readonly layout: Layout;
  /** Directory for what the service keeps on disk. */
  readonly dataDir: string;
};

export type EnteredBuild = {
  /** Returns the handler that the HTTP server would call for a GET of this path. */
  handlerOf(path: string): StubHandler;
};

type Exports = Readonly<Record<string, unknown>>;
type Call = (...args: readonly unknown[]) => unknown;

export async function enterBuild(build: PreparedBuild): Promise<EnteredBuild> {
  const { folder, layout, dataDir } = build;
  const load = async (file: string): Promise<Exports> =>
    (await import(pathToFileURL(`${folder}/${file}`).href)) as Exports;
  const { routes } = (await load('node_modules/uWebSockets.js/index.js')) as {
    readonly routes: readonly StubRoute[];
  };
  const { readConfig } = await load(layout.settings);
  const { createLog } = await load(layout.log);
  const { startService } = await load(layout.start);
  const environment = { DATA_DIR: dataDir, HOST: '127.0.0.1', PORT: '0', LOG_LEVEL: 'error' };
  const config = (readConfig as Call)(environment);
  await (startService as Call)(config, (createLog as Call)('error'));
  return { handlerOf: (path) => find(routes, path).handler };
}

function find(routes: readonly StubRoute[], path: string): StubRoute {
  const found = routes.find(
    ({ method, pattern }) =>
      method !== 'head' && path.startsWith(pattern.slice(0, pattern.indexOf('*'))),
  );
  if (found === undefined) throw new Error(`no handler for ${path}`);
  return found;
}
