// Starts an edge of a node in a process of its own, as an operator would start it, also behind a way that can
// fail, and tells what it offers.

import { randomUUID } from 'node:crypto';
import { eventually } from './eventually.ts';
import { NODE_FLAGS, type NodeSettings, type ServingNode, startNode } from './node.ts';
import { SLUICE_COMMAND } from './sluice-command.ts';
import { type NetworkProxy, startProxy } from './tcp-proxy.ts';
import { type Answer, admin, send, type Tenant } from './tenant.ts';

export type EdgeOnAWay = {
  readonly edge: ServingNode;
  /** The network between the edge and its upstream. */
  readonly way: NetworkProxy;
};

/** Makes a token for edges of a node, for all organizations or for one. */
export async function makeEdgeToken(
  node: { readonly url: string },
  org: string | null = null,
): Promise<{ readonly id: string; readonly secret: string }> {
  const answer = await admin(node, 'POST', 'edge-tokens', { name: 'edges', org });
  if (answer.status !== 201) throw new Error(`no edge token: ${answer.text}`);
  return { id: String(answer.body?.id), secret: String(answer.body?.secret) };
}

/** Starts an edge with a token; `upstream` is the base URL under which it reaches the service. */
export function startEdge(
  upstream: string,
  token: string,
  settings: NodeSettings = {},
): Promise<ServingNode> {
  const edge = { EDGE_UPSTREAM: upstream, EDGE_TOKEN: token, ...settings };
  return startNode(edge, [...NODE_FLAGS, SLUICE_COMMAND, 'edge']);
}

/** Starts an edge of a service whose way to the service can fail. The caller ends both. */
export async function startEdgeOnAWay(
  upstream: ServingNode,
  token?: string,
  settings?: NodeSettings,
): Promise<EdgeOnAWay> {
  const way = await startProxy(portOf(upstream));
  const secret = token ?? (await makeEdgeToken(upstream)).secret;
  return { edge: await startEdge(`http://127.0.0.1:${way.port}`, secret, settings), way };
}

/** Calls an endpoint of a service for edges as an edge with this token would. */
export function asEdge(
  node: { readonly url: string },
  token: string,
  method: string,
  path: string,
  more: { readonly body?: unknown; readonly headers?: Record<string, string> } = {},
): Promise<Answer> {
  const [secret = ''] = token.split('.');
  const headers = { authorization: `Bearer ${secret}`, ...more.headers };
  return send(node, method, `/edge/v1/${path}`, { ...more, headers });
}

export function portOf({ url }: { readonly url: string }): number {
  return Number(new URL(url).port);
}

/** Returns the version that an edge offers to a new device; null for 204, else the status. */
export function offeredBy(edge: ServingNode, tenant: Tenant): Promise<unknown> {
  return tenant.at(edge).offered('0.9.0', { device: randomUUID() });
}

/** Resolves once an edge offers a version, or null; test/timed has the times of contract 29.6. */
export function arrives(
  edge: ServingNode,
  tenant: Tenant,
  version: unknown,
  msMax?: number,
): Promise<void> {
  const isThere = async () => (await offeredBy(edge, tenant)) === version;
  return eventually(`${version} arrives`, isThere, msMax);
}
