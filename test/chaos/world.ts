// Stores and nodes of a chaos run: a PostgreSQL with a standby behind one address, a Redis behind another
// one, nodes that can be killed, frozen and given a wrong clock, and an edge of the first of them.

import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import { runPostgres } from '../support/copied-database.ts';
import { makeEdgeToken, startEdge } from '../support/edge-node.ts';
import { eventually } from '../support/eventually.ts';
import { freshDatabase } from '../support/fresh-database.ts';
import { type ServingNode, startNode } from '../support/node.ts';
import { nodeClock } from '../support/node-clock.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { TO_LOOPBACK } from '../support/receiver.ts';
import { startRedis } from '../support/redis-server.ts';
import { runOn } from '../support/run-on.ts';
import { type NetworkProxy, startProxy } from '../support/tcp-proxy.ts';

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

export type ChaosNode = Awaited<ReturnType<typeof addNode>>;
export type World = Awaited<ReturnType<typeof startWorld>>;

/** Settings of every node, which an edge and a copy of the service share. */
export const CHAOS_SETTINGS = {
  ...TO_LOOPBACK,
  SECRET_KEY: 'a key of the chaos run',
  NEW_DEVICES_PER_ADDRESS_PER_MINUTE: '0',
  NEW_DEVICES_PER_APP_PER_MINUTE: '0',
};

/** Starts the stores, as many nodes as there are names, and an edge of the first. */
export async function startWorld(names: readonly [string, ...string[]]) {
  const redis = await startRedis();
  const redisWay = await startProxy(redis.port);
  const ledger = await startLedger();
  const [name, ...others] = names;
  const first = await addNode(name, ledger.url, redisWay.port);
  const nodes: [ChaosNode, ...ChaosNode[]] = [first];
  for (const other of others) nodes.push(await addNode(other, ledger.url, redisWay.port));
  const edgeWay = await startProxy(portOf(first.serving));
  let elsewhere: { readonly url: string } | undefined;
  const lead = () => edgeWay.moveTo(portOf(elsewhere ?? first.serving));
  first.onRestart(lead);
  const { secret } = await makeEdgeToken(first.serving);
  const upstream = `http://127.0.0.1:${edgeWay.port}`;
  const edge = { name: EDGE, serving: await startEdge(upstream, secret, CHAOS_SETTINGS) };
  await untilReady(edge.serving);
  return {
    /** Redis, and the address under which the nodes reach it. */
    ...{ redis, redisWay },
    /** Nodes, the first of which the edge follows. */
    ...{ nodes, edge },
    ...ledger,
    /** Lets the address of the edge's upstream lead to a service; to the first node when none is named. */
    leadEdgeTo(service?: { readonly url: string }) {
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

async function addNode(name: string, databaseUrl: string, redisPort: number) {
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
    /** Starts the node again and waits until it is ready. */
    async restart() {
      serving = await serving.restart();
      restarted();
      await untilReady(serving);
    },
    /** Calls a listener whenever the node listens again, on another port. */
    onRestart(listener: () => void) {
      restarted = listener;
    },
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
  };
}

/** Returns the ids of a process and of everything that it started and that still runs, parents first. */
function processTree(pid: number): readonly number[] {
  const listed = `/proc/${pid}/task/${pid}/children`;
  if (!existsSync(listed)) return [pid];
  const children = readFileSync(listed, 'utf8').split(' ').map(Number).filter(Boolean);
  return [pid, ...children.flatMap(processTree)];
}

async function untilReady({ url }: ServingNode): Promise<void> {
  const isReady = async () => {
    const answer = await fetch(`${url}/readyz`).catch(() => undefined);
    await answer?.arrayBuffer();
    return answer?.status === 200;
  };
  await eventually('the node is ready', isReady, READY_MS_MAX);
}

async function startLedger() {
  let primary: PostgresServer = await startPostgres();
  const database = await freshDatabase(primary.url);
  const proxy = await startProxy(primary.port);
  let standby = await primary.startStandby();
  const databaseUrl = (port = primary.port) =>
    Object.assign(new URL(database.url), { port: String(port) }).href;
  const url = databaseUrl(proxy.port);
  return {
    /** Address of the ledger's database, whichever server it is on. */
    url,
    /** Server that is the ledger at present, and the address of its database there. */
    ...{ primary: () => primary, databaseUrl },
    /** Reads the ledger directly, without a node. */
    query: <Row extends pg.QueryResultRow>(text: string) => runOn<Row>(databaseUrl(), text),
    /** Lets the standby fall behind from now on. */
    async lag() {
      await standby.catchUp();
      await standby.stopFollowing();
    },
    /** Kills the primary and moves the address to the standby; a new standby follows it. */
    async failOver() {
      const lost = primary;
      await lost.kill();
      await standby.promote();
      proxy.moveTo(standby.port);
      primary = standby;
      await lost.stop();
      standby = await primary.startStandby();
    },
    /** Returns a function that puts the ledger back to what it is now, as a restored dump does. */
    dump: () => dumpDatabase(databaseUrl, proxy),
    async dispose() {
      await Promise.all([proxy.close(), standby.stop(), primary.stop()]);
    },
  };
}

async function dumpDatabase(url: () => string, proxy: NetworkProxy): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-dump-'));
  const file = join(folder, 'ledger.dump');
  await runPostgres('pg_dump', ['--format=custom', '--file', file, url()]);
  return async () => {
    const name = new URL(url()).pathname.slice(1);
    const [server, restored] = ['postgres', `${name}_restored`].map((other) => {
      return Object.assign(new URL(url()), { pathname: `/${other}` }).href;
    }) as [string, string];
    const endConnections = () => {
      const held = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`;
      return runOn(server, held);
    };
    // Restored beside the present one, which then makes room: nodes never see it half full.
    await runOn(server, `CREATE DATABASE ${name}_restored`);
    const restoring = ['--single-transaction', '--exit-on-error', '--dbname', restored];
    await runPostgres('pg_restore', [...restoring, file]);
    proxy.cut();
    await endConnections();
    for (let attempt = 1; ; attempt++) {
      const renaming = `ALTER DATABASE ${name} RENAME TO ${name}_${Date.now()}`;
      const error = await runOn(server, renaming).catch((reason: Error) => reason);
      if (!(error instanceof Error)) break;
      if (attempt === RENAME_ATTEMPTS_MAX) throw error;
      await endConnections();
    }
    await runOn(server, `ALTER DATABASE ${name}_restored RENAME TO ${name}`);
    proxy.cut();
    rmSync(folder, { recursive: true, force: true });
  };
}
