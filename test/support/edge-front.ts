// One address in front of a service and an edge of it: devices reach the edge, everybody else the service.
// So suites that were written for a node run against an edge. What a write has changed takes a moment to
// reach an edge; the front answers a write once it has, because a test could not tell a moment from a fault.

import { readFileSync } from 'node:fs';
import {
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { makeEdgeToken, startEdge } from './edge-node.ts';
import { eventually, sleep } from './eventually.ts';
import type { ServingNode } from './node.ts';

/** First segments of the paths that devices ask. */
const OF_DEVICES: ReadonlySet<string> = new Set([
  ...['u', 'c', 'e', 'squirrel', 'velopack', 'sparkle', 'download', 'feed'],
]);
/** Milliseconds after which the service's other processes have heard of a change. */
const HEARD_MS = 30;
/** Milliseconds, and turns, in which an edge serves what it has heard of; a busy one makes turns long. */
const SERVED_MS = 40;
const SERVED_TURNS = 3;
const KEEP_ALIVE_MS = 30_000;
/** Milliseconds in which changes of labels reach an edge: below the five seconds of the contract. */
const LABELS_MS = 2500;

/** Above what nodes take, so that they answer what is too long. */
const HEADER_BYTES_MAX = 256 * 1024;

export type EdgeFront = { readonly url: string; stop(): Promise<void> };

/** Starts an edge of a service, and the address in front of both. */
export async function startEdgeFront(service: { readonly url: string }): Promise<EdgeFront> {
  const { secret } = await makeEdgeToken(service);
  const server = createServer({ maxHeaderSize: HEADER_BYTES_MAX }, (incoming, outgoing) => {
    forward(incoming, outgoing, service.url, edge.url, () => catchUp(service.url, secret, edge));
  });
  // Longer than what the passed on header promises to clients.
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  const url = await listen(server);
  // Feeds name the address by which they are read.
  const edge = await startEdge(service.url, secret, { PUBLIC_URL: url });
  return {
    url,
    async stop() {
      server.closeAllConnections();
      server.close();
      await edge.dispose();
    },
  };
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function forward(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  service: string,
  edge: string,
  caughtUp: () => Promise<void>,
): void {
  const { method = 'GET', url = '/' } = incoming;
  const isOfDevice = OF_DEVICES.has(url.split('/')[1]?.split('?')[0] ?? '');
  const isWrite = !isOfDevice && !['GET', 'HEAD', 'OPTIONS'].includes(method);
  const target = new URL(isOfDevice ? edge : service);
  const { hostname, port } = target;
  // The path is passed on as it is: a URL object would resolve its dots.
  const passed = request(
    // A connection for each: one that is kept may be closed just when it is used again.
    { hostname, port, method, path: url, headers: incoming.headers, agent: false },
    async (answer) => {
      const isDone = isWrite && (answer.statusCode ?? 500) < 300;
      if (isDone && url.includes('/fleet/report')) await sleep(LABELS_MS);
      try {
        if (isDone) await caughtUp();
        outgoing.writeHead(answer.statusCode ?? 502, keptAlive(answer.rawHeaders));
        answer.pipe(outgoing);
      } catch (error) {
        outgoing.destroy(error as Error);
      }
    },
  );
  passed.on('error', () => outgoing.destroy());
  incoming.pipe(passed);
}

/** Returns headers, as names and values by turns, for a connection that goes on. */
function keptAlive(rawHeaders: readonly string[]): string[] {
  const kept: string[] = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = rawHeaders.slice(at, at + 2);
    if (name.toLowerCase() !== 'connection') kept.push(name, value);
  }
  return [...kept, 'Connection', 'keep-alive'];
}

/** Resolves once the edge has the index that the service has now, or a later one. */
async function catchUp(service: string, token: string, edge: ServingNode): Promise<void> {
  await sleep(HEARD_MS);
  const [secret = ''] = token.split('.');
  const headers = { authorization: `Bearer ${secret}` };
  const answer = await fetch(`${service}/edge/v1/index`, { headers });
  const { at, tag } = (await answer.json()) as { at: number; tag: string };
  await eventually('the edge has caught up', () => {
    const held = indexOf(edge);
    return held !== undefined && (held.at > at || held.tag === tag);
  });
  for (let turn = 0; turn < SERVED_TURNS; turn++) {
    await sleep(SERVED_MS);
    await Promise.all([fetch(`${service}/healthz`), fetch(`${edge.url}/healthz`)]);
  }
}

/** Index that an edge has accepted last. */
function indexOf({
  dataDir,
}: ServingNode): { readonly at: number; readonly tag: string } | undefined {
  try {
    const kept = readFileSync(join(dataDir, 'edge', 'followed'), 'utf8');
    return JSON.parse(kept.slice(kept.indexOf('\n') + 1)) as { at: number; tag: string };
  } catch {
    return undefined;
  }
}
