// Starts the two services that are compared, one of the present tree and one of another commit. Each runs its
// own build as `npm start` does, on a database and a Redis of its own. Devices of the present tree's service
// may be answered by an edge of it instead.

import { makeEdgeToken, startEdge } from '../../test/support/edge-node.ts';
import { freshDatabase } from '../../test/support/fresh-database.ts';
import { metricsOf } from '../../test/support/metrics.ts';
import { type ServingNode, startNode } from '../../test/support/node.ts';
import { startPostgres } from '../../test/support/postgres-server.ts';
import { startRedis } from '../../test/support/redis-server.ts';
import { otherProcessors, pinProcess } from '../machine/place-process.ts';
import { placeStores, type Recording, watchRecording } from '../service/recording.ts';
import { startArguments } from './checkout.ts';
import { publishScenarios } from './publish-scenarios.ts';

export type ServicePair = {
  /** Nodes as they run now: of the present tree, or its edge, then of the other commit. */
  nodes(): readonly ServingNode[];
  /** Progress of PostgreSQL with the check-ins of both. */
  readonly recording: Recording;
  /** Whether processes were pinned: needs Linux, `taskset` and two processors. */
  readonly isPinned: boolean;
  /** Replaces both nodes by new ones with empty memory, on the same stores. */
  restart(): Promise<void>;
  dispose(): Promise<void>;
};

/** Any key will do: edges cannot follow a service without one. */
const SECRET_KEY = 'a key of the benchmarks';
const JOURNALLED = /^sluice_check_in_queue_entries (\d+)$/m;

/**
 * Starts the services of two builds and publishes the releases of the scenarios on both. With `isOnEdge` the
 * first node is an edge of the present tree, which follows the service of that tree.
 */
export async function startServicePair(
  present: string,
  other: string,
  isOnEdge: boolean,
): Promise<ServicePair> {
  // This process before any other: processes that it starts from now on inherit its place.
  const isPinned = pinProcess(process.pid, otherProcessors());
  const endings: (() => Promise<void>)[] = [];
  const dispose = async () => {
    for (const end of endings.splice(0).reverse()) await end();
  };
  try {
    const postgres = await startPostgres();
    endings.push(() => postgres.stop());
    const redisUrls: string[] = [];
    const nodes: ServingNode[] = [];
    for (const [index, folder] of [present, other].entries()) {
      const redis = await startRedis();
      endings.push(() => redis.stop());
      redisUrls.push(redis.url);
      const { url } = await freshDatabase(postgres.url);
      const settings = { DATABASE_URL: url, REDIS_URL: redis.url, SECRET_KEY };
      const node = await startNode(settings, startArguments(folder));
      nodes.push(node);
      endings.push(async () => nodes[index]?.dispose());
      await publishScenarios(node);
    }
    if (isOnEdge) endings.push(await putEdgeBefore(nodes));
    placeStores();
    const recording = watchRecording(redisUrls);
    endings.push(async () => recording.close());
    const isHandedOver = async () => !isOnEdge || (await countJournalled(nodes[0])) === 0;
    const restart = async () => {
      await Promise.all(nodes.map((node) => node.stop()));
      nodes.splice(0, 2, ...(await Promise.all(nodes.map((node) => node.restart()))));
    };
    return {
      nodes: () => nodes,
      recording: {
        ...recording,
        isDone: async () => (await isHandedOver()) && (await recording.isDone()),
      },
      ...{ isPinned, restart, dispose },
    };
  } catch (error) {
    await dispose();
    throw error;
  }
}

/** Puts an edge in the place of the first node, which it follows; returns what ends that node. */
async function putEdgeBefore(nodes: ServingNode[]): Promise<() => Promise<void>> {
  const [upstream] = nodes;
  if (upstream === undefined) throw new Error('there is no service to follow');
  const { secret } = await makeEdgeToken(upstream);
  nodes[0] = await startEdge(upstream.url, secret);
  return () => upstream.dispose();
}

/** Number of batches of check-ins that an edge has not handed over yet. */
async function countJournalled(edge: ServingNode | undefined): Promise<number> {
  if (edge === undefined) return 0;
  return Number(JOURNALLED.exec(await metricsOf(edge))?.[1] ?? 0);
}
