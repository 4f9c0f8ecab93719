// The service under measurement: started as a user starts it, with a Redis and a PostgreSQL of its own, on a
// processor of its own. What it serves is written straight into PostgreSQL, with fixed ids and times, so that
// answers, cohorts and checksums are the same in every run.

import pg from 'pg';
import { freshDatabase } from '../../test/support/fresh-database.ts';
import { type NodeSettings, type ServingNode, startNode } from '../../test/support/node.ts';
import { startPostgres } from '../../test/support/postgres-server.ts';
import { startRedis } from '../../test/support/redis-server.ts';
import {
  freeProcess,
  otherProcessors,
  pinProcess,
  processTree,
  yieldProcess,
} from './cpu-account.ts';
import { type GcPauses, keepGcPauses } from './gc-pauses.ts';
import { placeStores, type Recording, watchRecording } from './recording.ts';

export type BenchService = {
  readonly node: ServingNode;
  readonly host: string;
  readonly port: number;
  /** The process that serves. */
  readonly pid: number;
  /** Puts it and what it has started by now in their places; the latter's ids. */
  place(): readonly number[];
  readonly gc: GcPauses;
  readonly redisUrl: string;
  readonly databaseUrl: string;
  /** Of its check-ins. */
  readonly recording: Recording;
  /** Whether processes were pinned: needs Linux, `taskset` and two processors. */
  readonly isPinned: boolean;
  /**
   * How many requests came from devices so busy that Redis was asked about them: no fleet should do that
   * where it is not what is measured.
   */
  settledCount(): Promise<number>;
  /** The same stores with a node that knows nothing yet, in place of this one. */
  restart(): Promise<BenchService>;
  dispose(): Promise<void>;
};

/** What stays when the node is restarted. */
type Surroundings = Pick<
  BenchService,
  'gc' | 'redisUrl' | 'databaseUrl' | 'recording' | 'isPinned'
> & {
  readonly isPlaced: boolean;
  endStores(): Promise<void>;
};

const SETTLED = /^sluice_device_limit_total\{outcome="settled"\} (\d+)$/m;

/** The measured server has this processor to itself; everything else is on the others. */
export const SERVER_PROCESSOR = '0';

/**
 * Starts stores and a node and fills the database; `settings` are the node's. Without `isPlaced` its
 * processes stay where the system puts them.
 */
export async function startBenchService(
  fill: (sql: pg.Client) => Promise<void>,
  settings: NodeSettings = {},
  isPlaced = true,
): Promise<BenchService> {
  // First of all this process: what it starts from now on inherits its place.
  const isPinned = pinProcess(process.pid, otherProcessors());
  const [postgres, redis] = await Promise.all([startPostgres({ fsync: true }), startRedis()]);
  placeStores();
  const database = await freshDatabase(postgres.url);
  const gc = keepGcPauses();
  const endStores = async () => {
    gc.dispose();
    await Promise.all([postgres.stop(), redis.stop()]);
  };
  const node = await startNode({
    DATABASE_URL: database.url,
    REDIS_URL: redis.url,
    ...gc.environment,
    ...settings,
  }).catch(async (error: unknown) => {
    await endStores();
    throw error;
  });
  const recording = watchRecording([redis.url]);
  await withClient(database.url, fill);
  return serviceOf(node, {
    gc,
    redisUrl: redis.url,
    databaseUrl: database.url,
    recording,
    isPinned,
    isPlaced,
    endStores,
  });
}

function serviceOf(node: ServingNode, surroundings: Surroundings): BenchService {
  const { pid } = node.process;
  const { isPlaced, endStores, ...shared } = surroundings;
  if (isPlaced) placeNode(pid);
  else for (const each of processTree(pid)) freeProcess(each);
  return {
    ...shared,
    node,
    host: '127.0.0.1',
    port: Number(new URL(node.url).port),
    pid,
    place: () => placeNode(pid),
    async settledCount() {
      const metrics = await (await fetch(`${node.url}/metrics`)).text();
      return Number(SETTLED.exec(metrics)?.[1] ?? 0);
    },
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

/**
 * Puts a node on the measured processor, and what it started for work behind the answers on the others, where
 * it yields as PostgreSQL does. Answers the latter's ids.
 */
export function placeNode(pid: number): number[] {
  pinProcess(pid, SERVER_PROCESSOR);
  const backgroundPids = processTree(pid).slice(1);
  for (const background of backgroundPids) {
    pinProcess(background, otherProcessors());
    yieldProcess(background);
  }
  return backgroundPids;
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
