// Time from a publish on one node until another serves it, with PostgreSQL and Redis between them.

import { Agent } from 'node:http';
import type { ServingNode } from '../../test/support/node.ts';
import { createNamed, type Tenant } from '../../test/support/tenant.ts';
import type { Benchmark } from '../benchmark.ts';
import { ask, checksumOf } from '../load/ask.ts';
import type { Row } from '../report.ts';
import { withDeployment } from '../service/deployment.ts';

const WAIT_MS_MAX = 5000;
/** Publishes before another key takes over, fewer than one key may do in a minute. */
const PUBLISHES_PER_KEY = 200;
/** Checks before another device asks, since none may ask 120 times a minute. */
const CHECKS_PER_DEVICE = 64;

export const propagation: Benchmark = {
  name: 'propagation',
  title: 'milliseconds from a publish on one node until another serves it',
  reading: [
    'from the call: since the publish was sent; from the answer: since the publisher heard that it is done.',
    'own node: asked where it was published; other node: asked without pause on a node beside it.',
    '0 or less: it was served before the publisher heard. All on one machine: no network in it.',
  ],
  run: ({ isSmoke }) =>
    withDeployment({ isPlaced: false }, async (deployment) => {
      const stores = await deployment.startStores();
      const nodes = [await deployment.startNode(stores), await deployment.startNode(stores)];
      return { tables: [{ rows: await measure(nodes, isSmoke ? 5 : 100) }] };
    }),
};

async function measure(nodes: readonly ServingNode[], count: number): Promise<Row[]> {
  const [first, second] = nodes as [ServingNode, ServingNode];
  let tenant = await createNamed(first, 'propagation');
  const versions = Array.from({ length: count + 1 }, (_, index) => `1.0.${index}`);
  const moments: Record<'call' | 'answer' | 'own' | 'other', number>[] = [];
  for (const [index, version] of versions.entries()) {
    if (index % PUBLISHES_PER_KEY === PUBLISHES_PER_KEY - 1) {
      tenant = await tenant.anotherKey();
    }
    const call = performance.now();
    const served = [first, second].map((node) => untilServed(node, tenant, version));
    const { status, text } = await tenant.publish(version);
    const answer = performance.now();
    if (status !== 201) throw new Error(`publish: ${status} ${text}`);
    const [own = 0, other = 0] = await Promise.all(served);
    // The first publish does not count: it finds a channel that no node has loaded.
    if (index > 0) moments.push({ call, answer, own, other });
  }
  const checksum = checksumOf(versions);
  const row = (name: string, delay: (moment: (typeof moments)[number]) => number): Row => {
    const sorted = moments.map(delay).sort((left, right) => left - right);
    const at = (share: number) => sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN;
    const percentiles = { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) };
    return { 'served by': name, publishes: sorted.length, ...percentiles, checksum };
  };
  return [
    row('own node, from the call', ({ own, call }) => own - call),
    row('other node, from the call', ({ other, call }) => other - call),
    row('other node, from the answer', ({ other, answer }) => other - answer),
    row('publish itself', ({ answer, call }) => answer - call),
  ];
}

let asked = 0;

/** Checks again and again on one connection until the version is offered; returns when it was. */
async function untilServed(node: ServingNode, tenant: Tenant, version: string): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const url = `${node.url}/u/${tenant.app}/stable/linux/x86_64/0.9.0`;
  const deadline = performance.now() + WAIT_MS_MAX;
  try {
    for (;;) {
      const device = `bench-${Math.floor(asked / CHECKS_PER_DEVICE)}`;
      asked += 1;
      const { status, body } = await ask(agent, url, device);
      const now = performance.now();
      if (status !== 200 && status !== 204) throw new Error(`check: ${status}`);
      if (body.includes(`"version":"${version}"`)) return now;
      if (now > deadline) throw new Error(`${version} was not served within ${WAIT_MS_MAX} ms`);
    }
  } finally {
    agent.destroy();
  }
}
