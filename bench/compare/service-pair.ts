// Starts the two services that are compared, one of the present tree and one of another commit. Each runs its
// own build as `npm start` does, on a database and a Redis of its own.

import { freshDatabase } from '../../test/support/fresh-database.ts';
import { type ServingNode, startNode } from '../../test/support/node.ts';
import { startPostgres } from '../../test/support/postgres-server.ts';
import { startRedis } from '../../test/support/redis-server.ts';
import { otherProcessors, pinProcess } from '../machine/place-process.ts';
import { placeStores, type Recording, watchRecording } from '../service/recording.ts';
import { startArguments } from './checkout.ts';
import { publishScenarios } from './publish-scenarios.ts';

export type ServicePair = {
  /** Nodes as they run now: of the present tree, then of the other commit. */
  nodes(): readonly ServingNode[];
  /** Progress of PostgreSQL with the check-ins of both. */
  readonly recording: Recording;
  /** Whether processes were pinned: needs Linux, `taskset` and two processors. */
  readonly isPinned: boolean;
  /** Replaces both nodes by new ones with empty memory, on the same stores. */
  restart(): Promise<void>;
  dispose(): Promise<void>;
};

/** Starts the services of two builds and publishes the releases of the scenarios on both. */
export async function startServicePair(present: string, other: string): Promise<ServicePair> {
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
      const settings = { DATABASE_URL: url, REDIS_URL: redis.url };
      const node = await startNode(settings, startArguments(folder));
      nodes.push(node);
      endings.push(async () => nodes[index]?.dispose());
      await publishScenarios(node);
    }
    placeStores();
    const recording = watchRecording(redisUrls);
    endings.push(async () => recording.close());
    const restart = async () => {
      await Promise.all(nodes.map((node) => node.stop()));
      nodes.splice(0, 2, ...(await Promise.all(nodes.map((node) => node.restart()))));
    };
    return { nodes: () => nodes, recording, isPinned, restart, dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}
