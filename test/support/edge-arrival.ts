// What an edge offers, and how it is put behind a way that can fail.

import { randomUUID } from 'node:crypto';
import { makeEdgeToken, startEdge } from './edge-node.ts';
import { eventually, sleep } from './eventually.ts';
import type { ServingNode } from './node.ts';
import { type NetworkProxy, startProxy } from './tcp-proxy.ts';
import { check, type Tenant } from './tenant.ts';

/** Time in which a change arrives for certain; test/timed has the promise of contract 29.6. */
const ARRIVES_MS_MAX = 60_000;
const ASK_INTERVAL_MS = 20;

export type EdgeOnAWay = {
  readonly edge: ServingNode;
  /** The network between the edge and its upstream. */
  readonly way: NetworkProxy;
};

/** Starts an edge of a service whose way to the service can fail. The caller ends both. */
export async function startEdgeOnAWay(upstream: ServingNode): Promise<EdgeOnAWay> {
  const way = await startProxy(Number(new URL(upstream.url).port));
  const { secret } = await makeEdgeToken(upstream);
  const edge = await startEdge(`http://127.0.0.1:${way.port}`, secret);
  return { edge, way };
}

/** Returns the version that an edge offers to a new device; null for 204, else the status. */
export async function offeredBy(edge: ServingNode, tenant: Tenant): Promise<unknown> {
  const answer = await check(edge, tenant, '0.9.0', { device: randomUUID() });
  return answer.status === 204 ? null : (answer.body?.version ?? answer.status);
}

/** Resolves once an edge offers a version, or null; rejects when it does not within the time. */
export async function arrives(
  edge: ServingNode,
  tenant: Tenant,
  version: unknown,
  msMax = ARRIVES_MS_MAX,
): Promise<void> {
  const isThere = async () => {
    if ((await offeredBy(edge, tenant)) === version) return true;
    await sleep(ASK_INTERVAL_MS);
    return false;
  };
  await eventually(`${version} arrives`, isThere, msMax);
}
