// Starts an edge of a node in a process of its own, as an operator would start it.

import { NODE_FLAGS, type NodeSettings, type ServingNode, startNode } from './node.ts';
import { SLUICE_COMMAND } from './sluice-command.ts';
import { admin } from './tenant.ts';

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
