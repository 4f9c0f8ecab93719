// Stores and nodes of a chaos run: a PostgreSQL with a standby behind one address, a Redis, and nodes that
// can be killed, frozen and given a wrong clock.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { eventually } from '../support/eventually.ts';
import { freshDatabase } from '../support/fresh-database.ts';
import { type ServingNode, startNode } from '../support/node.ts';
import { type NodeClock, nodeClock } from '../support/node-clock.ts';
import {
  findPostgres,
  type PostgresServer,
  type StandbyServer,
  startPostgres,
} from '../support/postgres-server.ts';
import { type RedisServer, startRedis } from '../support/redis-server.ts';
import { type Proxy as NetworkProxy, startProxy } from '../support/tcp-proxy.ts';
import { processTree } from './process-tree.ts';

const READY_MS_MAX = 30_000;
const RENAME_ATTEMPTS_MAX = 50;

/** Node with a name that stays when the node starts again. */
export type ChaosNode = {
  readonly name: string;
  /** Node as it runs at present. */
  readonly serving: ServingNode;
  kill(): Promise<void>;
  /** Starts the node again and waits until it is ready. */
  restart(): Promise<void>;
  readonly clock: NodeClock;
  freeze(): void;
  thaw(): void;
};

export type World = {
  readonly redis: RedisServer;
  readonly nodes: readonly ChaosNode[];
  /** Server that is the ledger at present. */
  readonly primary: () => PostgresServer;
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

/** Starts the stores and as many nodes as there are names. */
export async function startWorld(names: readonly string[]): Promise<World> {
  const redis = await startRedis();
  const ledger = await startLedger();
  const nodes: ChaosNode[] = [];
  for (const name of names) nodes.push(await addNode(name, ledger.url, redis.url));
  return {
    redis,
    nodes,
    ...ledger,
    async dispose() {
      await Promise.all(nodes.map(({ serving }) => serving.dispose()));
      await Promise.all([redis.stop(), ledger.dispose()]);
    },
  };
}

async function addNode(name: string, databaseUrl: string, redisUrl: string): Promise<ChaosNode> {
  const clock = nodeClock(0);
  let serving = await startNode({
    ...clock.settings,
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    NEW_DEVICES_PER_ADDRESS_PER_MINUTE: '0',
    NEW_DEVICES_PER_APP_PER_MINUTE: '0',
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
      await untilReady(serving);
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

type LedgerServers = Omit<World, 'redis' | 'nodes'> & {
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
    query: (text) => queryOnce(databaseAt(database.url, primary.port), text),
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
  const programs = dirname(findPostgres() ?? '');
  const folder = mkdtempSync(join(tmpdir(), 'sluice-dump-'));
  const file = join(folder, 'ledger.dump');
  const run = (program: string, args: readonly string[]) =>
    execFileSync(join(programs, program), args, { stdio: 'pipe' });
  run('pg_dump', ['--format=custom', '--file', file, url()]);
  return async () => {
    const server = new URL(url());
    const name = server.pathname.slice(1);
    server.pathname = '/postgres';
    const restored = new URL(url());
    restored.pathname = `/${name}_restored`;
    // Restored beside the present one, which then makes room: nodes never see it half full.
    await queryOnce(server.href, `CREATE DATABASE ${name}_restored`);
    run('pg_restore', ['--single-transaction', '--exit-on-error', '--dbname', restored.href, file]);
    proxy.cut();
    await queryOnce(
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
      await queryOnce(server, `ALTER DATABASE ${name} RENAME TO ${to}`);
      return;
    } catch (error) {
      if (attempt === RENAME_ATTEMPTS_MAX) throw error;
      const held = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`;
      await queryOnce(server, held);
    }
  }
}

async function queryOnce<Row extends pg.QueryResultRow>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}
