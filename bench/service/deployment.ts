// Starts what is measured: stores, nodes, the load generator and the servers beside them, as an operator
// starts them, and ends all of it. Placed deployments have processors of their own.

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import pg from 'pg';
import { eventually } from '../../test/support/eventually.ts';
import { freshDatabase } from '../../test/support/fresh-database.ts';
import { metricsOf } from '../../test/support/metrics.ts';
import { type NodeSettings, type ServingNode, startNode } from '../../test/support/node.ts';
import { type PostgresServer, startPostgres } from '../../test/support/postgres-server.ts';
import { queueLength } from '../../test/support/redis-keys.ts';
import { startRedis } from '../../test/support/redis-server.ts';
import type { FixedAnswer } from '../load/ask.ts';
import { type Generator, startGenerator } from '../load/run-load.ts';
import * as place from '../machine/place-process.ts';
import { startChild } from '../machine/worker.ts';
import { Comparison } from '../measure/comparison.ts';
import { createPatience, type Patience } from '../measure/patience.ts';
import { insertApps } from './fixed-releases.ts';
import { SCENARIO_APPS } from './scenarios.ts';

type Ending = { end(): unknown };

const PROBES = 16;

/** Does a work on a deployment of its own, which has a PostgreSQL and nothing else yet. */
export async function withDeployment<Result>(
  { isPlaced, fsync = true }: { readonly isPlaced: boolean; readonly fsync?: boolean },
  work: (deployment: Deployment) => Promise<Result>,
): Promise<Result> {
  // This process before any other: processes that it starts from now on inherit its place.
  const isPinned = isPlaced && place.pinProcess(process.pid, place.OTHER_PROCESSORS);
  const postgres = await startPostgres({ fsync });
  const deployment = new Deployment(postgres, isPlaced, isPinned);
  deployment.keep({ end: () => postgres.stop() });
  try {
    return await work(deployment);
  } finally {
    await deployment.end();
  }
}

/** Does a work on a placed node that has the releases of the scenarios, with fixed ids and times. */
export function withScenarios<Result>(
  work: (deployment: Deployment) => Promise<Result>,
): Promise<Result> {
  return withDeployment({ isPlaced: true }, async (deployment) => {
    const stores = await deployment.startStores();
    const node = await deployment.startNode(stores);
    await insertApps(await deployment.connect(stores.DATABASE_URL), SCENARIO_APPS);
    await knowChannels(node);
    return work(deployment);
  });
}

export class Deployment {
  readonly postgres: PostgresServer;
  /** Whether processes were pinned: needs Linux, `taskset` and two processors. */
  readonly isPinned: boolean;
  /** Nodes and Redis servers that run now, in the order of their starts. */
  readonly nodes: ServingNode[] = [];
  readonly redis: Redis[] = [];
  /** Whether every check-in has reached Redis; an edge hands its own over later. */
  isHandedOver: () => Promise<boolean> = async () => true;
  private generator: Generator | undefined;
  private readonly isPlaced: boolean;
  private readonly endings: Ending[] = [];

  constructor(postgres: PostgresServer, isPlaced: boolean, isPinned: boolean) {
    this.postgres = postgres;
    this.isPlaced = isPlaced;
    this.isPinned = isPinned;
  }

  get node(): ServingNode {
    return this.nodes[0] as ServingNode;
  }

  /** Ends a thing with the deployment, before everything that was started before it. */
  keep<Thing extends Ending>(thing: Thing): Thing {
    this.endings.push(thing);
    return thing;
  }

  async startStores() {
    const server = await startRedis();
    this.keep({ end: () => server.stop() });
    const redis = new Redis(server.url);
    this.redis.push(redis);
    this.keep({ end: () => redis.disconnect() });
    const { url } = await freshDatabase(this.postgres.url);
    if (this.isPlaced) place.placeStores();
    return { DATABASE_URL: url, REDIS_URL: server.url };
  }

  /** Starts a node; `args` are those of Node.js, for another build than that of the present tree. */
  async startNode(settings: NodeSettings, args?: readonly string[]): Promise<ServingNode> {
    const node = await startNode(settings, args);
    const index = this.nodes.push(node) - 1;
    this.keep({ end: () => this.nodes[index]?.dispose() });
    return node;
  }

  async restart(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
    const anew = await Promise.all(this.nodes.map((node) => node.restart()));
    this.nodes.splice(0, anew.length, ...anew);
  }

  /** Puts a node and the processes it has started so far in their places. */
  place(node = this.node) {
    const { pid } = node.process;
    const port = Number(new URL(node.url).port);
    return { port, pid, pids: [pid], backgroundPids: place.placeNode(pid) };
  }

  /** Starts a server of `bench/servers`, which gives every request this answer. */
  async startServer(name: string, answer: FixedAnswer) {
    const file = new URL(`../servers/${name}.ts`, import.meta.url);
    const { pid, process, end } = this.keep(startChild(file, [JSON.stringify(answer)]));
    const exited = once(process, 'exit').then(() => [undefined]);
    const [port] = await Promise.race([once(process, 'message'), exited]);
    if (port === undefined) throw new Error(`${name} ended at start`);
    place.pinProcess(pid, place.SERVER_PROCESSOR);
    return { pid, pids: [pid], port: Number(port), end };
  }

  /** Comparison by the one load generator, with waits for a quiet machine, in all and at once. */
  comparison(allMs: number, onceMs?: number): Comparison {
    this.generator ??= this.keep(startGenerator());
    return new Comparison(this.generator, this.patience(allMs, onceMs));
  }

  /** Patience with the machine, and with what is still to record of the check-ins of all nodes. */
  patience(allMs: number, onceMs?: number): Patience {
    const isDone = async () => {
      if (!(await this.isHandedOver())) return false;
      const lengths = await Promise.all(this.redis.map(queueLength));
      return lengths.every((length) => length === 0);
    };
    return createPatience(isDone, allMs, onceMs);
  }

  async connect(url: string): Promise<pg.Client> {
    const sql = this.keep(new pg.Client({ connectionString: url }));
    await sql.connect();
    return sql;
  }

  async end(): Promise<void> {
    for (const ending of this.endings.splice(0).reverse()) await ending.end();
  }
}

/** Waits until the node has found the channels that were written past it, and answers no more 404. */
async function knowChannels({ url }: ServingNode): Promise<void> {
  const [app] = Object.keys(SCENARIO_APPS);
  await eventually(`the node knows ${app}`, async () => {
    const answers = Array.from({ length: PROBES }, () =>
      fetch(`${url}/u/${app}/stable/linux/x86_64/0.0.0`, {
        // No two of one device, which may ask 120 times a minute.
        headers: { 'X-Service-Device': randomUUID() },
      }),
    );
    return (await Promise.all(answers)).every(({ status }) => status !== 404);
  });
}

/** Reads the series of a node; one that is not there is 0, as counters are that never counted. */
export async function readMetrics(node: ServingNode): Promise<(series: string) => number> {
  const lines = (await metricsOf(node)).split('\n').map((line) => line.split(/ (?=\S+$)/));
  const values = new Map(lines.map(([series = '', value]) => [series, Number(value)]));
  return (series) => values.get(series) ?? 0;
}

/** Remark on requests for which nodes asked Redis: only devices that ask very often cause that. */
export async function settledRemarks(nodes: readonly ServingNode[]): Promise<string[]> {
  const metrics = await Promise.all(nodes.map(readMetrics));
  const counts = metrics.map((metric) => metric('sluice_device_limit_total{outcome="settled"}'));
  const settled = counts.reduce((sum, count) => sum + count, 0);
  return settled === 0 ? [] : [`of devices that ask too often, ${settled} requests went to Redis`];
}
