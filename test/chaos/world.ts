// Stores and nodes of a chaos run: a PostgreSQL with a standby behind one address, a Redis behind another
// one, nodes that can be killed, frozen and given a wrong clock, and an edge of the first of them.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import { runPostgres } from '../support/copied-database.ts';
import { makeEdgeToken, startEdge } from '../support/edge-node.ts';
import { eventually } from '../support/eventually.ts';
import { freshDatabase } from '../support/fresh-database.ts';
import { type ServingNode, startNode } from '../support/node.ts';
import { type NodeClock, nodeClock } from '../support/node-clock.ts';
import {
  type PostgresServer,
  type StandbyServer,
  startPostgres,
} from '../support/postgres-server.ts';
import { TO_LOOPBACK } from '../support/receiver.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { runOn } from '../support/run-on.ts';
import { type NetworkProxy, startProxy } from '../support/tcp-proxy.ts';
import { processTree } from './process-tree.ts';

const READY_MS_MAX = 30_000;
const RENAME_ATTEMPTS_MAX = 50;

/** Name of the edge among the nodes. */
export const EDGE = 'edge';

/** What devices ask, with a name that stays when it starts again. */
export type Answering = {
  readonly name: string;
  /** Node as it runs at present. */
  readonly serving: ServingNode;
};

export type ChaosNode = Answering & {
  kill(): Promise<void>;
  /** Starts the node again and waits until it is ready. */
  restart(): Promise<void>;
  /** Calls a listener whenever the node listens again, on another port. */
  onRestart(listener: () => void): void;
  readonly clock: NodeClock;
  freeze(): void;
  thaw(): void;
};

export type World = {
  readonly redis: RedisServer;
  /** Address under which the nodes reach their Redis. */
  readonly redisWay: NetworkProxy;
  readonly nodes: readonly ChaosNode[];
  readonly edge: Answering;
  /** Lets the address of the edge's upstream lead to a service; to the first node when none is named. */
  leadEdgeTo(service?: { readonly url: string }): void;
  /** Server that is the ledger at present. */
  readonly primary: () => PostgresServer;
  /** Returns the address of the ledger's database, on the server that it is on at present. */
  databaseUrl(): string;
  /** Reads the ledger directly, without a node. */
  query<Row extends pg.QueryResultRow>(text: string): Promise<Row[]>;
  /** Lets the standby fall behind from now on. */
  lag(): Promise<void>;
  /** Kills the primary and moves the address to the standby; a new standby follows it. */
  failOver(): Promise<void>;
  /** Returns a function that puts the ledger back to what it is now, as a restored dump does. */
  dump(): Promise<() => Promise<void>>;
  dispose(): Promise<void>;
};

/** Settings of every node, which an edge and a copy of the service share. */
export const CHAOS_SETTINGS = {
  ...TO_LOOPBACK,
  SECRET_KEY: 'a key of the chaos run',
  NEW_DEVICES_PER_ADDRESS_PER_MINUTE: '0',
  NEW_DEVICES_PER_APP_PER_MINUTE: '0',
};

/** Starts the stores, as many nodes as there are names, and an edge of the first. */
export async function startWorld(names: readonly [string, ...string[]]): Promise<World> {
  const redis = await startRedis();
  const redisWay = await startProxy(redis.port);
  const ledger = await startLedger();
  const nodes: ChaosNode[] = [];
  for (const name of names) nodes.push(await addNode(name, ledger.url, redisWay.port));
  const [first] = nodes as [ChaosNode, ...ChaosNode[]];
  const edgeWay = await startProxy(portOf(first.serving));
  let elsewhere: { readonly url: string } | undefined;
  const lead = () => edgeWay.moveTo(portOf(elsewhere ?? first.serving));
  first.onRestart(lead);
  const { secret } = await makeEdgeToken(first.serving);
  const upstream = `http://127.0.0.1:${edgeWay.port}`;
  const edge = { name: EDGE, serving: await startEdge(upstream, secret, CHAOS_SETTINGS) };
  await untilReady(edge.serving);
  return {
    ...{ redis, redisWay, nodes, edge },
    ...ledger,
    leadEdgeTo(service) {
      elsewhere = service;
      lead();
    },
    async dispose() {
      await edge.serving.dispose();
      await Promise.all(nodes.map(({ serving }) => serving.dispose()));
      await Promise.all([redis.stop(), ledger.dispose()]);
      await Promise.all([redisWay.close(), edgeWay.close()]);
    },
  };
}

function portOf({ url }: { readonly url: string }): number {
  return Number(new URL(url).port);
}

async function addNode(name: string, databaseUrl: string, redisPort: number): Promise<ChaosNode> {
  const clock = nodeClock(0);
  let restarted = () => {};
  let serving = await startNode({
    ...clock.settings,
    ...CHAOS_SETTINGS,
    DATABASE_URL: databaseUrl,
    REDIS_URL: `redis://127.0.0.1:${redisPort}`,
  });
  await untilReady(serving);
  const signal = (name: NodeJS.Signals) => {
    for (const pid of processTree(serving.process.pid)) process.kill(pid, name);
  };
  return {
    name,
    get serving() {
      return serving;
    },
    kill: () => serving.kill(),
    clock,
    async restart() {
      serving = await serving.restart();
      restarted();
      await untilReady(serving);
    },
    onRestart(listener) {
      restarted = listener;
    },
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
  };
}

async function untilReady({ url }: ServingNode): Promise<void> {
  await eventually(
    'the node is ready',
    async () => {
      const answer = await fetch(`${url}/readyz`).catch(() => undefined);
      await answer?.arrayBuffer();
      return answer?.status === 200;
    },
    READY_MS_MAX,
  );
}

type LedgerServers = Omit<World, 'redis' | 'redisWay' | 'nodes' | 'edge' | 'leadEdgeTo'> & {
  /** Address of the ledger's database, whichever server it is on. */
  readonly url: string;
};

async function startLedger(): Promise<LedgerServers> {
  let primary = await startPostgres();
  const database = await freshDatabase(primary.url);
  const proxy: NetworkProxy = await startProxy(primary.port);
  let standby: StandbyServer = await primary.startStandby();
  const url = databaseAt(database.url, proxy.port);
  return {
    url,
    primary: () => primary,
    databaseUrl: () => databaseAt(database.url, primary.port),
    query: (text) => runOn(databaseAt(database.url, primary.port), text),
    async lag() {
      await standby.catchUp();
      await standby.stopFollowing();
    },
    async failOver() {
      const lost = primary;
      await lost.kill();
      await standby.promote();
      proxy.moveTo(standby.port);
      primary = standby;
      await lost.stop();
      standby = await primary.startStandby();
    },
    dump: async () => dumpDatabase(() => databaseAt(database.url, primary.port), proxy),
    async dispose() {
      await Promise.all([proxy.close(), standby.stop(), primary.stop()]);
    },
  };
}

/** Returns the address of the same database on another loopback port. */
function databaseAt(url: string, port: number): string {
  const moved = new URL(url);
  moved.port = String(port);
  return moved.href;
}

async function dumpDatabase(url: () => string, proxy: NetworkProxy): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-dump-'));
  const file = join(folder, 'ledger.dump');
  runPostgres('pg_dump', ['--format=custom', '--file', file, url()]);
  return async () => {
    const server = new URL(url());
    const name = server.pathname.slice(1);
    server.pathname = '/postgres';
    const restored = new URL(url());
    restored.pathname = `/${name}_restored`;
    // Restored beside the present one, which then makes room: nodes never see it half full.
    await runOn(server.href, `CREATE DATABASE ${name}_restored`);
    const restoring = ['--single-transaction', '--exit-on-error', '--dbname', restored.href];
    runPostgres('pg_restore', [...restoring, file]);
    proxy.cut();
    await runOn(
      server.href,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`,
    );
    await renameDatabase(server.href, name, `${name}_${Date.now()}`);
    await renameDatabase(server.href, `${name}_restored`, name);
    proxy.cut();
    rmSync(folder, { recursive: true, force: true });
  };
}

/** Renames a database, ending the connections that keep it from that. */
async function renameDatabase(server: string, name: string, to: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await runOn(server, `ALTER DATABASE ${name} RENAME TO ${to}`);
      return;
    } catch (error) {
      if (attempt === RENAME_ATTEMPTS_MAX) throw error;
      const held = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`;
      await runOn(server, held);
    }
  }
}
