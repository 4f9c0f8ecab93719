// Starts several nodes that share a PostgreSQL and a Redis, each with a network of its own that tests can
// break.

import pg from 'pg';
import { type FreshDatabase, freshDatabase } from './fresh-database.ts';
import { type NodeSettings, type ServingNode, startNode } from './node.ts';
import { type PostgresServer, startPostgres } from './postgres-server.ts';
import { type RedisServer, startRedis } from './redis-server.ts';
import { type NetworkProxy, startProxy } from './tcp-proxy.ts';

export type Cluster = {
  readonly redis: RedisServer;
  readonly postgres: PostgresServer;
  /** Address of the shared database, for a node that is to reach it in another way. */
  readonly databaseUrl: string;
  /** Starts a node; its Redis goes through a proxy of its own. */
  addNode(settings?: NodeSettings): Promise<ClusterNode>;
  /** Queries the shared database directly, without a node. */
  query<Row extends pg.QueryResultRow>(text: string): Promise<pg.QueryResult<Row>>;
  dispose(): Promise<void>;
};

export type ClusterNode = ServingNode & { readonly redisProxy: NetworkProxy };

/** Starts stores that belong to this test alone, so that it may stop, freeze and empty them. */
export async function startCluster(): Promise<Cluster> {
  const [redis, postgres] = await Promise.all([startRedis(), startPostgres()]);
  const database: FreshDatabase = await freshDatabase(postgres.url);
  const nodes: ClusterNode[] = [];
  const observer = new pg.Pool({ connectionString: database.url, max: 1 });
  // Tests stop the database: the client's errors are expected.
  observer.on('error', () => undefined);
  return {
    redis,
    postgres,
    databaseUrl: database.url,
    query: (text) => observer.query(text),
    async addNode(settings = {}) {
      const redisProxy = await startProxy(redis.port);
      const node = await startNode({
        DATABASE_URL: database.url,
        REDIS_URL: `redis://127.0.0.1:${redisProxy.port}`,
        ...settings,
      });
      const member = { ...node, redisProxy };
      nodes.push(member);
      return member;
    },
    async dispose() {
      await observer.end();
      await Promise.all(nodes.map((node) => node.dispose()));
      await Promise.all(nodes.map((node) => node.redisProxy.close()));
      await Promise.all([redis.stop(), postgres.stop()]);
    },
  };
}
