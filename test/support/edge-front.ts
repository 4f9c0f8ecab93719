// One address in front of a service and an edge of it: devices reach the edge, everybody else the
// service. So suites that were written for a node run against an edge. What a write has changed takes a
// moment to reach an edge, and a test could not tell that moment from a fault: a device that asks about
// an app which was changed waits here until the edge has it. The edge reaches its service by this address
// too, so that what it has been told is known here: the index that it was given last, the snapshots that it
// is reading, and the changes of labels that it has read.

import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { parseIndex } from '../../src/store/snapshot/snapshot-index.ts';
import { asEdge, makeEdgeToken, startEdge } from './edge-node.ts';
import { eventually } from './eventually.ts';
import { bodyOf, listening } from './loopback-server.ts';

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
  const turn = async () => void (await (await fetch(`${edge.url}/healthz`)).arrayBuffer());
  const arrivals = new EdgeArrivals((app) => revisionsOf(service, secret, app), turn);
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
  const { port, close } = await listening(server);
  const url = `http://127.0.0.1:${port}`;
  // Feeds name the address by which they are read.
  const edge = await startEdge(url, secret, { PUBLIC_URL: url });
  return {
    url,
    async stop() {
      await edge.dispose();
      await close();
    },
  };
}

/**
 * Passes a request and its answer on as they are. `passed` hears both bodies and the status before the
 * answer is sent, when it is given.
 */
export function pass(
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
      const body = await bodyOf(answer);
      if (body === undefined) return;
      passed(Buffer.concat(asked).toString(), body.toString(), status);
      outgoing.end(body);
    },
  );
  sent.on('error', () => outgoing.destroy());
  outgoing.on('close', () => sent.destroy());
  if (passed !== undefined) incoming.on('data', (chunk: Buffer) => asked.push(chunk));
  incoming.pipe(sent);
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

type ServedRevision = {
  readonly channelId: string;
  readonly channel: string;
  readonly revision: number;
};

/**
 * Returns the revisions of an app's channels that the service serves. A write is answered once it is
 * served.
 */
async function revisionsOf(
  service: { readonly url: string },
  token: string,
  app: string,
): Promise<readonly ServedRevision[]> {
  const { body: index } = await asEdge(service, token, 'GET', 'index');
  const channels = index?.channels as readonly (readonly string[])[];
  const own = channels.filter(([id, ref]) => id === app || ref === app);
  return Promise.all(
    own.map(async ([, ref, channelId = '', channel = '']) => {
      const body = { app: ref, channel, known: [] };
      const answer = await asEdge(service, token, 'POST', 'snapshot', { body });
      const revision = parseIndex(String(answer.body?.index))?.head.revision ?? 0;
      return { channelId, channel, revision };
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

// What of the service's changes has arrived at the edge, told from what the two say to each other.

/** Change of an app that the edge may not have. */
type Change = {
  /** Channels that the service must know first. */
  readonly channels: readonly string[];
  /** Place of a report of labels among the calls for changes of labels; undefined when it was none. */
  readonly labelsAt: number | undefined;
  arrival: Promise<void> | undefined;
};

/** Turns of the edge after its last read of a snapshot, which it then takes apart. */
const TURNS = 3;
/**
 * Reads of changed labels after a report: two parts of an edge read them, each twice, because a change is
 * not told while a writer that began before it goes on.
 */
const LABEL_READS = 4;

class EdgeArrivals {
  private readonly changes = new Map<string, Change>();
  /** Revisions in the index that the edge has. */
  private held = new Map<string, number>();
  private reading = 0;
  private keepsLabels = false;
  /** Number of calls for changes of labels that have begun. */
  private labelCalls = 0;
  /** Places of the calls for changes of labels that have read all of them, of late. */
  private labelReads: readonly number[] = [];

  /** `turn` has the edge answer something, so that it has done what it was about to do. */
  constructor(
    private readonly revisions: (app: string) => Promise<readonly ServedRevision[]>,
    private readonly turn: () => Promise<void>,
  ) {}

  /**
   * Notes a call of the edge at its service; returns what is to be called with the answer, or without
   * one.
   */
  begin(endpoint: string, below: string): (answer?: string) => void {
    if (endpoint === 'index') return (answer = '') => this.holds(answer);
    if (endpoint === 'labels' || below === 'awaited') this.keepsLabels = true;
    if (endpoint === 'label-changes') {
      const place = ++this.labelCalls;
      return (answer = '') => this.readLabels(place, answer);
    }
    if (endpoint !== 'snapshot' && endpoint !== 'releases') return () => undefined;
    this.reading += 1;
    let isOver = false;
    return () => {
      if (!isOver) this.reading -= 1;
      isOver = true;
    };
  }

  /** Notes a write that the service has done: its path, and the body that was sent. */
  changed(path: string, body: string): void {
    const [, first, , inPath = ''] = path.split(/[/?]/);
    const { app, ref, name } = fieldsOf(body);
    const changed = first === 'wh' ? inPath : (app ?? ref);
    if (changed === undefined) return;
    const isChannel = path.endsWith('/channels') && name !== undefined;
    const before = this.changes.get(changed);
    this.changes.set(changed, {
      channels: [...(before?.channels ?? []), ...(isChannel ? [name] : [])],
      labelsAt: path.includes('/fleet/report') ? this.labelCalls : before?.labelsAt,
      arrival: undefined,
    });
  }

  /** Resolves once the edge serves what was changed of an app, or of any that may be the same. */
  async caughtUp(app: string): Promise<void> {
    // An app has an id and a ref, and the write may have named the other one.
    const isId = (text: string) => text.startsWith('app_');
    const names = [...this.changes.keys()].filter(
      (name) => name === app || isId(name) !== isId(app),
    );
    await Promise.all(names.map((name) => this.arrived(name)));
  }

  private arrived(name: string): Promise<void> | undefined {
    const change = this.changes.get(name);
    if (change === undefined) return undefined;
    change.arrival ??= this.follow(name, change).then(() => {
      if (this.changes.get(name) === change) this.changes.delete(name);
    });
    return change.arrival;
  }

  private async follow(app: string, { channels, labelsAt }: Change): Promise<void> {
    let served: readonly ServedRevision[] = [];
    await eventually(`the service tells edges of ${app}`, async () => {
      served = await this.revisions(app);
      const known = served.map(({ channel }) => channel);
      return known.length > 0 && channels.every((channel) => known.includes(channel));
    });
    await eventually(`the edge hears of ${app}`, () =>
      served.every(({ channelId, revision }) => (this.held.get(channelId) ?? -1) >= revision),
    );
    await eventually('the edge has read labels', () => {
      if (labelsAt === undefined || !this.keepsLabels) return true;
      return this.labelReads.filter((place) => place > labelsAt).length >= LABEL_READS;
    });
    for (let turn = 0; turn < TURNS; turn = this.reading === 0 ? turn + 1 : 0) {
      await this.turn();
    }
  }

  private holds(answer: string): void {
    if (answer === '') return;
    const { channels } = JSON.parse(answer) as { channels?: readonly (readonly unknown[])[] };
    if (channels === undefined) return;
    this.held = new Map(channels.map((entry) => [String(entry[2]), Number(entry[4])]));
  }

  private readLabels(place: number, answer: string): void {
    if (answer === '') return;
    const { newest = 1, through = 0 } = JSON.parse(answer) as { newest?: number; through?: number };
    if (through >= newest) this.labelReads = [...this.labelReads, place].slice(-LABEL_READS);
  }
}

function fieldsOf(body: string): { app?: string; ref?: string; name?: string } {
  try {
    return JSON.parse(body) as { app?: string; ref?: string; name?: string };
  } catch {
    return {};
  }
}
