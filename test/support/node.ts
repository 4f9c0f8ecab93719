// Starts a serving node in a process of its own, as an operator would start it: from the build, by settings.

import { fileURLToPath } from 'node:url';
import { baseEnvironment } from './base-environment.ts';
import {
  removeFolder,
  type ServerProcess,
  startProcess,
  temporaryFolder,
  waitUntilUp,
} from './server-process.ts';

export const ADMIN_TOKEN = 'test-admin-token';
/** Program of the service, as the build makes it. */
export const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

export type NodeSettings = Readonly<Record<string, string | undefined>>;

export type ServingNode = {
  readonly url: string;
  readonly dataDir: string;
  readonly process: ServerProcess;
  /** Everything that the node has printed, for assertions on its log. */
  output(): string;
  /** Sends SIGTERM and waits for the end of the node. */
  stop(): Promise<void>;
  /** Sends SIGKILL and waits for the end: nothing is drained or flushed. */
  kill(): Promise<void>;
  /** Starts the node again with the same settings and data, on another port. Only after stop or kill. */
  restart(settings?: NodeSettings): Promise<ServingNode>;
  /** Ends the node and removes its data. */
  dispose(): Promise<void>;
};

/** Flags of Node.js as in `npm start`. */
export const NODE_FLAGS = ['--max-semi-space-size=32', '--no-memory-reducer'];
const ARGUMENTS = [...NODE_FLAGS, MAIN];

const PORT_TAKEN = /HOST, PORT: cannot listen on .*: another program has it/;
const ATTEMPTS_MAX = 3;

/** Settings without bounds for new devices: all requests of a test come from one machine. */
const UNBOUNDED = {
  NEW_DEVICES_PER_ADDRESS_PER_MINUTE: '0',
  NEW_DEVICES_PER_APP_PER_MINUTE: '0',
} as const;

/**
 * Starts a node and waits until it listens. Settings are environment variables; PORT is always a free one.
 * The node trusts one proxy, so that requests may come from as many addresses as a test likes. `args` are the
 * arguments of Node.js: they run the build of this tree, unless they name another. `descriptorsMax` is the
 * number of file descriptors that the node may have open; undefined for that of the tests.
 */
export async function startNode(
  settings: NodeSettings = {},
  args: readonly string[] = ARGUMENTS,
  descriptorsMax?: number,
): Promise<ServingNode> {
  const dataDir = settings.DATA_DIR ?? temporaryFolder('sluice-node-');
  const command =
    descriptorsMax === undefined
      ? [process.execPath, ...args]
      : ['sh', '-c', `ulimit -n ${descriptorsMax} && exec "$0" "$@"`, process.execPath, ...args];
  const [program = '', ...rest] = command;
  const launch = async (own: NodeSettings, attempt = 1): Promise<ServingNode> => {
    const env = { ...baseEnvironment(), HOST: '127.0.0.1', PORT: '0', ...own };
    const server = await startProcess(program, rest, { env });
    try {
      await waitUntilUp(server, async () => portIn(server.output()) !== undefined);
    } catch (error) {
      // Where several processes share a port, it was free when the first of them looked.
      const isTaken = env.PORT === '0' && PORT_TAKEN.test(String(error));
      if (isTaken && attempt < ATTEMPTS_MAX) return launch(own, attempt + 1);
      throw error;
    }
    return {
      url: `http://127.0.0.1:${portIn(server.output())}`,
      dataDir,
      process: server,
      output: () => server.output(),
      stop: () => server.end('SIGTERM'),
      kill: () => server.end('SIGKILL'),
      restart: (changed = {}) => launch({ ...own, ...changed }),
      async dispose() {
        await server.end('SIGTERM');
        removeFolder(dataDir);
      },
    };
  };
  try {
    const defaults = { ADMIN_TOKEN, TRUST_PROXY: '1', ...UNBOUNDED };
    return await launch({ ...defaults, ...settings, DATA_DIR: dataDir });
  } catch (error) {
    if (settings.DATA_DIR === undefined) removeFolder(dataDir);
    throw error;
  }
}

/** Returns the port in the log line that says that the node listens. */
function portIn(output: string): number | undefined {
  for (const line of output.split('\n')) {
    if (!line.includes('"listening"')) continue;
    return (JSON.parse(line) as { port: number }).port;
  }
  return undefined;
}
