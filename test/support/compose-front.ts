// Runs the front of docker-compose.yml without Docker: HAProxy itself, on the configuration in that file,
// with loopback addresses in place of the containers' names.

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { findBinary } from './find-binary.ts';
import { freePort } from './free-port.ts';
import { startProcess, waitUntilUp } from './server-process.ts';

const START_TIMEOUT_MS = 10_000;
const COMPOSE_FILE = new URL('../../docker-compose.yml', import.meta.url);

export type ComposeFront = {
  readonly url: string;
  /** Returns the log of HAProxy. */
  output(): string;
  stop(): Promise<void>;
};

export function findHaproxy(): string | undefined {
  return findBinary('haproxy', ['/usr/sbin']);
}

/** Returns the front's configuration as docker-compose.yml has it. */
async function readFrontConfig(): Promise<string> {
  const compose = load(await readFile(COMPOSE_FILE, 'utf8')) as {
    configs: { front: { content: string } };
  };
  return compose.configs.front.content;
}

/** Starts HAProxy in front of two nodes, given as `host:port`. It takes a second or two to find them up. */
export async function startComposeFront(nodes: readonly [string, string]): Promise<ComposeFront> {
  const binary = findHaproxy();
  if (binary === undefined) throw new Error('No haproxy found');
  const port = await freePort();
  const folder = await mkdtemp(join(tmpdir(), 'sluice-front-'));
  const file = join(folder, 'haproxy.cfg');
  await writeFile(file, onLoopback(await readFrontConfig(), port, nodes));
  const server = await startProcess(binary, ['-db', '-f', file]);
  const url = `http://127.0.0.1:${port}`;
  const isAnswering = () =>
    fetch(url).then(
      () => true,
      () => false,
    );
  await waitUntilUp(server, isAnswering, START_TIMEOUT_MS);
  return {
    url,
    output: () => server.output(),
    async stop() {
      await server.end('SIGTERM');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Replaces the addresses in the configuration; nothing else of it may differ. */
function onLoopback(config: string, port: number, nodes: readonly [string, string]): string {
  const addresses = {
    'bind :8080': `bind 127.0.0.1:${port}`,
    'sluice-1:8080': nodes[0],
    'sluice-2:8080': nodes[1],
  };
  return Object.entries(addresses).reduce((changed, [from, to]) => {
    if (!changed.includes(from)) throw new Error(`docker-compose.yml has no \`${from}\` any more`);
    return changed.replace(from, to);
  }, config);
}
