// Service under measurement: started as an operator starts it, with a Redis, a PostgreSQL and a processor of
// its own. Its releases are written straight into PostgreSQL with fixed ids and times, so that answers,
// cohorts and checksums are the same in every run.

import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { eventually } from '../../test/support/eventually.ts';
import { freshDatabase } from '../../test/support/fresh-database.ts';
import { metricsOf } from '../../test/support/metrics.ts';
import { type NodeSettings, type ServingNode, startNode } from '../../test/support/node.ts';
import { startPostgres } from '../../test/support/postgres-server.ts';
import { startRedis } from '../../test/support/redis-server.ts';
import { freeProcess, otherProcessors, pinProcess, placeNode } from '../machine/place-process.ts';
import { processTree } from '../machine/process-table.ts';
import { type GcPauses, keepGcPauses } from '../measure/gc-pauses.ts';
import { placeStores, type Recording, watchRecording } from './recording.ts';

export type BenchService = {
  readonly node: ServingNode;
  readonly port: number;
  /** Process that serves. */
  readonly pid: number;
  /** Pins the node and the processes it has started so far; returns the ids of those processes. */
  place(): readonly number[];
  readonly gc: GcPauses;
  readonly redisUrl: string;
  readonly databaseUrl: string;
  /** Progress of PostgreSQL with the service's check-ins. */
  readonly recording: Recording;
  /** Whether processes were pinned: needs Linux, `taskset` and two processors. */
  readonly isPinned: boolean;
  /** Replaces this node by a new one with empty memory, on the same stores. */
  restart(): Promise<BenchService>;
  dispose(): Promise<void>;
};

/** Parts of a service that stay when the node is restarted. */
type Surroundings = Pick<
  BenchService,
  'gc' | 'redisUrl' | 'databaseUrl' | 'recording' | 'isPinned'
> & {
  readonly isPlaced: boolean;
  endStores(): Promise<void>;
};

/** Requests at a time, so that each of several serving processes gets some. */
const PROBES = 16;
const SETTLED = /^sluice_device_limit_total\{outcome="settled"\} (\d+)$/m;

/**
 * Starts stores and a node and fills the database; `settings` are the node's. Without `isPlaced` its
 * processes stay where the system puts them.
 */
export async function startBenchService(
  fill: (sql: pg.Client) => Promise<void>,
  settings: NodeSettings = {},
  isPlaced = true,
): Promise<BenchService> {
  // This process before any other: processes that it starts from now on inherit its place.
  const isPinned = pinProcess(process.pid, otherProcessors());
  const [postgres, redis] = await Promise.all([startPostgres({ fsync: true }), startRedis()]);
  placeStores();
  const database = await freshDatabase(postgres.url);
  const gc = keepGcPauses();
  const endStores = async () => {
    gc.dispose();
    await Promise.all([postgres.stop(), redis.stop()]);
  };
  const urls = { redisUrl: redis.url, databaseUrl: database.url };
  try {
    const node = await startNode({
      DATABASE_URL: database.url,
      REDIS_URL: redis.url,
      ...gc.environment,
      ...settings,
    });
    await withClient(database.url, async (sql) => {
      await fill(sql);
      await knowChannels(node, sql);
    });
    const recording = watchRecording([redis.url]);
    return serviceOf(node, { gc, ...urls, recording, isPinned, isPlaced, endStores });
  } catch (error) {
    await endStores();
    throw error;
  }
}

/**
 * Waits until the node knows the channels that were written past it: it finds them by asking the database now
 * and then, and answers 404 until then.
 */
async function knowChannels(node: ServingNode, sql: pg.Client): Promise<void> {
  const { rows } = await sql.query<{ path: string }>(
    `SELECT apps.ref || '/' || channels.name AS path
     FROM channels JOIN apps ON apps.id = channels.app_id LIMIT 1`,
  );
  for (const { path } of rows) {
    await eventually(`the node knows ${path}`, async () => {
      const answers = await Promise.all(
        Array.from({ length: PROBES }, () =>
          fetch(`${node.url}/u/${path}/linux/x86_64/0.0.0`, {
            // No two of one device, which may ask 120 times a minute.
            headers: { 'X-Service-Device': randomUUID() },
          }),
        ),
      );
      return answers.every(({ status }) => status !== 404);
    });
  }
}

/**
 * Number of requests for which a node asked Redis whether the device is within its limit. Only devices that
 * ask very often cause that, so it should be 0 unless it is what a benchmark measures.
 */
export async function countSettled(node: ServingNode): Promise<number> {
  return Number(SETTLED.exec(await metricsOf(node))?.[1] ?? 0);
}

function serviceOf(node: ServingNode, surroundings: Surroundings): BenchService {
  const { pid } = node.process;
  const { isPlaced, endStores, ...shared } = surroundings;
  if (isPlaced) placeNode(pid);
  else for (const each of processTree(pid)) freeProcess(each);
  return {
    ...shared,
    node,
    port: Number(new URL(node.url).port),
    pid,
    place: () => placeNode(pid),
    async restart() {
      await node.stop();
      return serviceOf(await node.restart(), surroundings);
    },
    async dispose() {
      shared.recording.close();
      await node.dispose();
      await endStores();
    },
  };
}

async function withClient(url: string, work: (sql: pg.Client) => Promise<void>): Promise<void> {
  const sql = new pg.Client({ connectionString: url });
  await sql.connect();
  try {
    await work(sql);
  } finally {
    await sql.end();
  }
}
