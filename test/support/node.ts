// A serving node of its own process, started as an operator would start it: from the build, by settings.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ServerProcess, startProcess, waitUntilUp } from './server-process.ts';

export const ADMIN_TOKEN = 'test-admin-token';
const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const START_TIMEOUT_MS = 30_000;

export type NodeSettings = Readonly<Record<string, string | undefined>>;

export type ServingNode = {
  readonly url: string;
  readonly dataDir: string;
  readonly process: ServerProcess;
  /** Everything it printed, for assertions on its log. */
  output(): string;
  /** SIGTERM, and its end. */
  stop(): Promise<void>;
  /** SIGKILL: no drain, nothing flushed. */
  kill(): Promise<void>;
  /** Starts it again with the same settings and data, on another port. Only after stop or kill. */
  restart(settings?: NodeSettings): Promise<ServingNode>;
  /** Ends it and removes its data. */
  dispose(): Promise<void>;
};

/** Those of `npm start`. */
const FLAGS = ['--max-semi-space-size=32', '--no-memory-reducer'];

/**
 * Starts a node and waits until it listens. Settings are environment variables; PORT is always free. It
 * believes one proxy, so that requests may come from as many addresses as a test likes.
 */
export async function startNode(settings: NodeSettings = {}): Promise<ServingNode> {
  const dataDir = settings.DATA_DIR ?? (await mkdtemp(join(tmpdir(), 'sluice-node-')));
  return launch({ ADMIN_TOKEN, TRUST_PROXY: '1', ...settings, DATA_DIR: dataDir }, dataDir);
}

async function launch(settings: NodeSettings, dataDir: string): Promise<ServingNode> {
  const server = await startProcess(process.execPath, [...FLAGS, MAIN], {
    env: { PATH: process.env.PATH, HOST: '127.0.0.1', PORT: '0', ...settings },
  });
  await waitUntilUp(server, async () => portIn(server.output()) !== undefined, START_TIMEOUT_MS);
  return {
    url: `http://127.0.0.1:${portIn(server.output())}`,
    dataDir,
    process: server,
    output: () => server.output(),
    stop: () => server.end('SIGTERM'),
    kill: () => server.end('SIGKILL'),
    restart: (changed = {}) => launch({ ...settings, ...changed }, dataDir),
    async dispose() {
      await server.end('SIGTERM');
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** The port of the log line that says it listens. */
function portIn(output: string): number | undefined {
  for (const line of output.split('\n')) {
    if (!line.includes('"listening"')) continue;
    return (JSON.parse(line) as { port: number }).port;
  }
  return undefined;
}
