// One address in front of a service and an edge of it: devices reach the edge, everybody else the
// service. So suites that were written for a node run against an edge. What a write has changed takes a
// moment to reach an edge, and a test could not tell that moment from a fault: a device that asks about
// an app which was changed waits here until the edge has it. The edge reaches its service by this address
// too, so that what it has been told is known here.

import {
  createServer,
  type IncomingMessage,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseIndex } from '../../src/store/snapshot/snapshot-index.ts';
import { EdgeArrivals, type ServedRevision } from './edge-arrivals.ts';
import { makeEdgeToken, startEdge } from './edge-node.ts';

/** First segments of the paths that devices ask. */
const OF_DEVICES: ReadonlySet<string> = new Set([
  ...['u', 'c', 'e', 'squirrel', 'velopack', 'sparkle', 'download', 'feed'],
]);
const KEEP_ALIVE_MS = 30_000;
/** Above what nodes take, so that they answer what is too long. */
const HEADER_BYTES_MAX = 256 * 1024;

export type EdgeFront = { readonly url: string; stop(): Promise<void> };

/** Starts an edge of a service, and the address in front of both. */
export async function startEdgeFront(service: { readonly url: string }): Promise<EdgeFront> {
  const { secret } = await makeEdgeToken(service);
  const arrivals = new EdgeArrivals({
    revisions: (app) => revisionsOf(service.url, secret, app),
    turn: async () => void (await (await fetch(`${edge.url}/healthz`)).arrayBuffer()),
  });
  const server = createServer({ maxHeaderSize: HEADER_BYTES_MAX }, (incoming, outgoing) => {
    const { url = '/', method = 'GET' } = incoming;
    const [, first = '', second = '', third = '', fourth = ''] = url.split(/[/?]/);
    if (OF_DEVICES.has(first)) {
      arrivals.caughtUp(unescaped(second)).then(
        () => pass(incoming, outgoing, edge.url),
        () => outgoing.destroy(),
      );
    } else if (first === 'edge') {
      const told = arrivals.begin(third, fourth);
      outgoing.on('close', () => told());
      pass(incoming, outgoing, service.url, (_, answer) => told(answer));
    } else if (['GET', 'HEAD', 'OPTIONS'].includes(method)) {
      pass(incoming, outgoing, service.url);
    } else {
      pass(incoming, outgoing, service.url, (asked, _, status) => {
        if (status < 300) arrivals.changed(url, asked);
      });
    }
  });
  // Longer than what the passed on header promises to clients.
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  const url = await listen(server);
  // Feeds name the address by which they are read.
  const edge = await startEdge(url, secret, { PUBLIC_URL: url });
  return {
    url,
    async stop() {
      await edge.dispose();
      server.closeAllConnections();
      server.close();
    },
  };
}

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/**
 * Passes a request and its answer on as they are. `passed` hears both bodies and the status before the
 * answer is sent, when it is given.
 */
function pass(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  target: string,
  passed?: (asked: string, answer: string, status: number) => void,
): void {
  const { method = 'GET', url = '/', headers } = incoming;
  const { hostname, port } = new URL(target);
  const asked: Buffer[] = [];
  const sent = request(
    // A connection for each: one that is kept may be closed just when it is used again. The path is
    // passed on as it is: a URL object would resolve its dots.
    { hostname, port, method, path: url, headers, agent: false },
    async (answer) => {
      answer.on('error', () => outgoing.destroy());
      const status = answer.statusCode ?? 502;
      outgoing.writeHead(status, keptAlive(answer.rawHeaders));
      if (passed === undefined) {
        answer.pipe(outgoing);
        return;
      }
      const body = await bytesOf(answer);
      passed(Buffer.concat(asked).toString(), body.toString(), status);
      outgoing.end(body);
    },
  );
  sent.on('error', () => outgoing.destroy());
  outgoing.on('close', () => sent.destroy());
  if (passed !== undefined) incoming.on('data', (chunk: Buffer) => asked.push(chunk));
  incoming.pipe(sent);
}

async function bytesOf(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
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

/**
 * Returns the revisions of an app's channels that the service serves. A write is answered once it is
 * served.
 */
async function revisionsOf(
  service: string,
  token: string,
  app: string,
): Promise<readonly ServedRevision[]> {
  const [secret = ''] = token.split('.');
  const headers = { authorization: `Bearer ${secret}` };
  const index = await fetch(`${service}/edge/v1/index`, { headers });
  const { channels } = (await index.json()) as { channels: readonly (readonly string[])[] };
  const own = channels.filter(([id, ref]) => id === app || ref === app);
  return Promise.all(
    own.map(async ([, ref, channelId = '', channel = '']) => {
      const body = JSON.stringify({ app: ref, channel, known: [] });
      const url = `${service}/edge/v1/snapshot`;
      const answer = await fetch(url, { method: 'POST', headers, body });
      const { index: text } = (await answer.json()) as { index: string };
      return { channelId, channel, revision: parseIndex(text)?.head.revision ?? 0 };
    }),
  );
}

/** Returns a segment of a path in plain text, as far as it can be read. */
function unescaped(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
