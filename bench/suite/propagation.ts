// Time from a publish on one node until another serves it, with PostgreSQL and Redis between them.

import { createHash } from 'node:crypto';
import { Agent, request } from 'node:http';
import { freshDatabase } from '../../test/support/fresh-database.ts';
import { type ServingNode, startNode } from '../../test/support/node.ts';
import { startPostgres } from '../../test/support/postgres-server.ts';
import { startRedis } from '../../test/support/redis-server.ts';
import { anotherKey, createTenant, publish, type Tenant } from '../../test/support/tenant.ts';
import type { Row } from '../measure/report.ts';
import { median } from '../measure/statistics.ts';
import type { Benchmark } from './benchmark.ts';

const WAIT_MS_MAX = 5000;
/** Publishes before another key takes over, fewer than one key may do in a minute. */
const PUBLISHES_PER_KEY = 200;

export const propagation: Benchmark = {
  name: 'propagation',
  title: 'milliseconds from a publish on one node until another serves it (PostgreSQL and Redis)',
  explanation: [
    'from the call: since the publish was sent; from the answer: since the publisher heard that it is done.',
    'own node: asked where it was published; other node: asked without pause on a node beside it.',
    '0 or less: it was served before the publisher heard. All on one machine: no network in it.',
  ],
  async run({ isSmoke }) {
    const [postgres, redis] = await Promise.all([startPostgres({ fsync: true }), startRedis()]);
    const database = await freshDatabase(postgres.url);
    const settings = { DATABASE_URL: database.url, REDIS_URL: redis.url };
    const nodes = [await startNode(settings), await startNode(settings)] as const;
    try {
      return await measure(nodes, isSmoke ? 5 : 100);
    } finally {
      await Promise.all(nodes.map((node) => node.dispose()));
      await Promise.all([postgres.stop(), redis.stop()]);
    }
  },
};

type Nodes = readonly [ServingNode, ServingNode];

async function measure(nodes: Nodes, count: number): Promise<Row[]> {
  let tenant = await createTenant(nodes[0], 'propagation');
  const hash = createHash('sha256');
  const delays: Delays[] = [];
  for (let index = 0; index <= count; index++) {
    if (index % PUBLISHES_PER_KEY === PUBLISHES_PER_KEY - 1) {
      tenant = await anotherKey(nodes[0], tenant);
    }
    const version = `1.0.${index}`;
    hash.update(version);
    const measured = await measureOne(nodes, tenant, version);
    // The first publish does not count: it finds a channel that no node has loaded.
    if (index > 0) delays.push(measured);
  }
  const checksum = hash.digest('hex').slice(0, 12);
  const row = (name: string, values: readonly number[]): Row => ({
    'served by': name,
    publishes: values.length,
    p50: percentile(values, 0.5),
    p90: percentile(values, 0.9),
    p99: percentile(values, 0.99),
    max: percentile(values, 1),
    checksum,
  });
  return [
    row(
      'own node, from the call',
      delays.map(({ own, call }) => own - call),
    ),
    row(
      'other node, from the call',
      delays.map(({ other, call }) => other - call),
    ),
    row(
      'other node, from the answer',
      delays.map(({ other, answer }) => other - answer),
    ),
    {
      ...row(
        'publish itself',
        delays.map(({ answer, call }) => answer - call),
      ),
    },
  ];
}

/** Moments of one publish, as times of `performance.now()`. */
type Delays = {
  readonly call: number;
  readonly answer: number;
  readonly own: number;
  readonly other: number;
};

async function measureOne(nodes: Nodes, tenant: Tenant, version: string): Promise<Delays> {
  const call = performance.now();
  const own = untilServed(nodes[0], tenant, version);
  const other = untilServed(nodes[1], tenant, version);
  const published = await publish(nodes[0], tenant, version);
  const answer = performance.now();
  if (published.status !== 201) throw new Error(`publish: ${published.status} ${published.text}`);
  return { call, answer, own: await own, other: await other };
}

/** Number of checks so far: after 64 another device asks, since none may ask 120 times a minute. */
let asked = 0;

/** Checks again and again on one connection until the version is offered; returns when it was. */
async function untilServed(node: ServingNode, tenant: Tenant, version: string): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const url = `${node.url}/u/${tenant.app}/stable/linux/x86_64/0.9.0`;
  const deadline = performance.now() + WAIT_MS_MAX;
  try {
    for (;;) {
      const device = `bench-${asked >> 6}`;
      asked += 1;
      const body = await get(agent, url, device);
      const now = performance.now();
      if (body.includes(`"version":"${version}"`)) return now;
      if (now > deadline) throw new Error(`${version} was not served within ${WAIT_MS_MAX} ms`);
    }
  } finally {
    agent.destroy();
  }
}

function get(agent: Agent, url: string, device: string): Promise<string> {
  const headers = { 'x-service-device': device };
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent, headers }, (response) => {
      if (response.statusCode !== 200 && response.statusCode !== 204) {
        reject(new Error(`check: ${response.statusCode}`));
      }
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        body += chunk;
      });
      response.on('end', () => resolve(body));
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end();
  });
}

function percentile(values: readonly number[], share: number): number {
  if (share === 0.5) return median(values);
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}
