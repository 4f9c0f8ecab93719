// Runs what docker-compose.yml says without Docker: its front in HAProxy itself, with loopback addresses in
// place of the containers' names, and the settings that it gives to the nodes.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { findBinary } from './find-binary.ts';
import { freePort } from './free-port.ts';
import type { NodeSettings } from './node.ts';
import { removeFolder, startProcess, temporaryFolder, waitUntilUp } from './server-process.ts';

const COMPOSE_FILE = new URL('../../docker-compose.yml', import.meta.url);

/** Addresses of a node as `host:port`: that of devices and publishers, and that of operators. */
export type NodeAddresses = { readonly service: string; readonly admin: string };

/** Proxy in front of two nodes. */
export type Front = {
  readonly url: string;
  readonly adminUrl: string;
  /** Returns the log of the proxy. */
  output(): string;
  stop(): Promise<void>;
};

type ComposeFile = {
  readonly 'x-node': { readonly environment: Readonly<Record<string, string>> };
  readonly configs: { readonly front: { readonly content: string } };
};

export function findHaproxy(): string | undefined {
  return findBinary('haproxy', ['/usr/sbin']);
}

async function readComposeFile(): Promise<ComposeFile> {
  return load(await readFile(COMPOSE_FILE, 'utf8')) as ComposeFile;
}

/**
 * Returns the settings that docker-compose.yml gives to a node, with `variables` as its environment and with
 * the addresses of the stores, as `host:port`, in place of the containers' names.
 */
export async function readComposeSettings(
  variables: Readonly<Record<string, string>>,
  stores: { readonly postgres: string; readonly redis: string },
): Promise<NodeSettings> {
  const { environment } = (await readComposeFile())['x-node'];
  const addresses = { 'postgres:5432': stores.postgres, 'redis:6379': stores.redis };
  return Object.fromEntries(
    Object.entries(environment).map(([name, value]) => {
      const set = value.replace(
        /\$\{(\w+)(?::-([^}]*)|:\?[^}]*)\}/g,
        (_, variable: string, fallback = '') => variables[variable] ?? fallback,
      );
      return [name, replaceAddresses(set, addresses)];
    }),
  );
}

/** Starts HAProxy in front of two nodes. It takes a second or two to find them up. */
export async function startComposeFront(
  nodes: readonly [NodeAddresses, NodeAddresses],
): Promise<Front> {
  const binary = findHaproxy();
  if (binary === undefined) throw new Error('No haproxy found');
  const [port, adminPort] = [await freePort(), await freePort()];
  const folder = temporaryFolder('sluice-front-');
  const file = join(folder, 'haproxy.cfg');
  const { content } = (await readComposeFile()).configs.front;
  const addresses = {
    'bind :8080': `bind 127.0.0.1:${port}`,
    'bind :9090': `bind 127.0.0.1:${adminPort}`,
    'sluice-1:8080': nodes[0].service,
    'sluice-2:8080': nodes[1].service,
    'sluice-1:9090': nodes[0].admin,
    'sluice-2:9090': nodes[1].admin,
  };
  await writeFile(file, configWith(addresses, content));
  const url = `http://127.0.0.1:${port}`;
  const running = await startFront(binary, ['-db', '-f', file], folder, () => fetch(url));
  return { url, adminUrl: `http://127.0.0.1:${adminPort}`, ...running };
}

/** Starts a proxy with the files of a folder, which `stop` removes. */
export async function startFront(
  binary: string,
  args: readonly string[],
  folder: string,
  isUp: () => Promise<unknown>,
): Promise<Pick<Front, 'output' | 'stop'>> {
  const server = await startProcess(binary, args);
  await waitUntilUp(server, isUp);
  return {
    output: () => server.output(),
    async stop() {
      await server.end('SIGTERM');
      removeFolder(folder);
    },
  };
}

/** Returns a configuration with other addresses; each must be in it. */
export function configWith(addresses: Readonly<Record<string, string>>, config: string): string {
  for (const address of Object.keys(addresses)) {
    if (!config.includes(address)) throw new Error(`there is no \`${address}\` in ${config}`);
  }
  return replaceAddresses(config, addresses);
}

/** Replaces addresses in a text, all at once. */
function replaceAddresses(text: string, addresses: Readonly<Record<string, string>>): string {
  const known = Object.keys(addresses).map((each) => each.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return text.replace(new RegExp(known.join('|'), 'g'), (found) => addresses[found] ?? found);
}
