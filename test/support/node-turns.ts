// One address in front of several nodes, which take turns at each client's requests, so that a poll, what
// follows it and the report come to different nodes. It keeps what was asked and answered.

import { pass } from './edge-front.ts';
import { loopbackServer } from './loopback-server.ts';
import type { Addressed } from './tenant.ts';

export type Exchange = {
  readonly method: string;
  readonly path: string;
  readonly asked: string;
  readonly status: number;
  readonly answer: string;
  /** Place of the node that answered. */
  readonly node: number;
};

/** Starts the address. `clientOf` tells from a path whose request it is. */
export async function startNodeTurns(
  nodes: readonly Addressed[],
  clientOf: (path: string) => string,
) {
  const exchanges: Exchange[] = [];
  const waiting = new Set<{ readonly request: string; readonly client: string }>();
  const turns = new Map<string, number>();
  const server = await loopbackServer((incoming, outgoing) => {
    const { method = 'GET', url: path = '/' } = incoming;
    const client = clientOf(path);
    const turn = turns.get(client) ?? 0;
    turns.set(client, turn + 1);
    const node = turn % nodes.length;
    const asked = { request: `${method} ${path}`, client };
    waiting.add(asked);
    outgoing.on('close', () => waiting.delete(asked));
    pass(incoming, outgoing, nodes[node]?.url ?? '', (body, answer, status) => {
      exchanges.push({ method, path, asked: body, status, answer, node });
    });
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    /** Returns what was asked for a client, in this order. */
    of: (client: string) => exchanges.filter(({ path }) => clientOf(path) === client),
    /** Returns the requests for a client that are not answered yet. */
    waiting: (client: string) =>
      [...waiting].filter((each) => each.client === client).map(({ request }) => request),
    close: server.close,
  };
}
