// Starts a real Redis for one test, on a free loopback port, which the test may kill and freeze.

import { connect } from 'node:net';
import { findBinary } from './find-binary.ts';
import { onFreePort } from './free-port.ts';
import {
  removeFolder,
  type StoreServer,
  startProcess,
  temporaryFolder,
  waitUntilUp,
} from './server-process.ts';

export type RedisServer = StoreServer;

/** The `redis-server` binary, when there is one. */
export function findRedis(): string | undefined {
  return findBinary('redis-server');
}

/**
 * Starts a Redis that keeps nothing on disk and waits until it answers; `args` are more arguments for it,
 * such as `['--requirepass', 'secret']`.
 */
export async function startRedis({
  args = [],
}: {
  readonly args?: readonly string[];
} = {}): Promise<RedisServer> {
  const binary = findRedis();
  if (binary === undefined) throw new Error('No redis-server in PATH');
  const folder = temporaryFolder('sluice-redis-');
  try {
    const start = async (port: number) => {
      const own = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder];
      const none = ['--save', '', '--appendonly', 'no', '--daemonize', 'no'];
      const server = await startProcess(binary, [...own, ...none, ...args], { cwd: folder });
      await waitUntilUp(server, () => isAnswering(port));
      return server;
    };
    const started = await onFreePort(start);
    const { port } = started;
    let { server } = started;
    return {
      url: `redis://127.0.0.1:${port}`,
      port,
      async stop() {
        // Nothing that matters is on its disk, so there is no need to wait for an orderly end.
        await server.end('SIGKILL');
        removeFolder(folder);
      },
      kill: () => server.end('SIGKILL'),
      pause: () => void process.kill(server.pid, 'SIGSTOP'),
      resume: () => void process.kill(server.pid, 'SIGCONT'),
      async restart() {
        await server.end('SIGTERM');
        server = await start(port);
      },
    };
  } catch (error) {
    removeFolder(folder);
    throw error;
  }
}

/** Whether PING is answered. A server that wants a login answers too, and is up. */
function isAnswering(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.setTimeout(1000, () => socket.destroy());
    socket.once('connect', () => socket.write('PING\r\n'));
    socket.once('data', (reply) => {
      resolve(/^(\+PONG|-NOAUTH)/.test(reply.toString()));
      socket.destroy();
    });
    socket.once('error', () => resolve(false));
    socket.once('close', () => resolve(false));
  });
}
