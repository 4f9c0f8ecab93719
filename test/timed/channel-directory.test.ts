// Tests that strangers who ask for names that do not exist keep nobody from being served: neither while
// PostgreSQL hangs, nor on a node that has just started (docs/contract.md 15.3).

import { cpSync, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { describeInFull } from '../support/backend.ts';
import { type Cluster, type ClusterNode, startCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { figureOf } from '../support/metrics.ts';
import type { ServingNode } from '../support/node.ts';
import { own } from '../support/own.ts';
import { startStrangers } from '../support/strangers.ts';
import { startProxy } from '../support/tcp-proxy.ts';
import { admin, createTenant, send, Tenant } from '../support/tenant.ts';

/**
 * Longest time until a channel is served that lies in Redis or on disk: about a second, and room for a busy
 * machine.
 */
const COLD_MS_MAX = 5000;
/** Longest time until another node knows a new app, and when the announcement is lost (§15.2). */
const PROPAGATION_MS_MAX = 1000;
const PROPAGATION_WITHOUT_REDIS_MS_MAX = 5000;
const CHANNELS = ['a', 'b', 'c', 'd'] as const;

describeInFull('names of channels', () => {
  let cluster: Cluster;
  let first: ClusterNode;
  let tenant: Tenant;

  beforeAll(async () => {
    cluster = await startCluster();
    first = await cluster.addNode();
    tenant = await createTenant(first);
    for (const name of CHANNELS) {
      await admin(first, 'POST', 'channels', { app: tenant.app, name });
      await tenant.publish('1.0.0', { channel: name });
      await tenant.check('0.9.0', { channel: name });
    }
    await tenant.publish('1.0.0');
    await tenant.check('0.9.0');
  });
  afterAll(() => cluster?.dispose());

  /** Starts a node whose way to PostgreSQL is a proxy. */
  async function startLate(isSilent = false) {
    const toPostgres = own(await startProxy(cluster.postgres.port));
    if (isSilent) toPostgres.blackhole();
    const url = Object.assign(new URL(cluster.databaseUrl), { port: String(toPostgres.port) });
    return cluster.addNode({ DATABASE_URL: url.href });
  }

  /** Lets strangers ask for names that nobody created, at most until the end of the test. */
  async function flood(node: ServingNode, count: number, answered = 0) {
    const strangers = startStrangers(node, count);
    onTestFinished(() => void strangers.stop());
    await eventually('strangers were answered', () => strangers.answered() > answered);
    return strangers;
  }

  /** Returns the milliseconds after which a node serves a channel. */
  async function timeOfCold(node: ServingNode, channel: string, app = tenant.app) {
    const started = performance.now();
    const answer = await new Tenant(node, { app }).check('0.9.0', { channel });
    expect([answer.status, answer.body?.version]).toEqual([200, '1.0.0']);
    return performance.now() - started;
  }

  it('of strangers keep no channel on disk or in Redis from being served, while PostgreSQL hangs or a table is locked', async () => {
    // It has loaded `stable` alone, and gets files of channels that it did not load at the start.
    const node = await startLate();
    await tenant.at(node).check('0.9.0');
    const folder = join(node.dataDir, 'snapshots');
    const hasStable = () =>
      existsSync(folder) && readdirSync(folder).some((name) => name.endsWith('.releases'));
    await eventually('it has made the folder of stable', hasStable);
    cpSync(join(first.dataDir, 'snapshots'), folder, { recursive: true });

    const locker = new pg.Client({ connectionString: cluster.databaseUrl });
    await locker.connect();
    await locker.query('BEGIN; LOCK TABLE channels IN ACCESS EXCLUSIVE MODE');
    const strangers = await flood(node, 40);
    const locked = await timeOfCold(node, 'a');
    cluster.postgres.pause();
    onTestFinished(() => cluster.postgres.resume());
    const frozen = await timeOfCold(node, 'b');
    const { unanswered, longestMs } = await strangers.stop();
    expect(Math.max(locked, frozen, longestMs)).toBeLessThan(COLD_MS_MAX);
    expect(unanswered).toBe(0);
    cluster.postgres.resume();
    await locker.end();
  });

  it('a node that restarts under a flood of invented names serves all that it served before', async () => {
    const node = await startLate();
    for (const channel of CHANNELS) await tenant.at(node).check('0.9.0', { channel });
    await node.stop();
    const restarted = own(await node.restart());
    const strangers = startStrangers(restarted, 300);
    onTestFinished(() => void strangers.stop());
    await eventually('it is ready', () => isReady(restarted));
    const loaded = await figureOf(restarted, 'sluice_catalogs');
    await eventually('strangers ask', () => strangers.answered() > 300);
    const [askedBefore, transactionsBefore] = [strangers.answered(), await transactions()];
    for (let round = 0; round < 40; round++) {
      await timeOfCold(restarted, CHANNELS[round % CHANNELS.length] as string);
    }
    await eventually('strangers asked', () => strangers.answered() > askedBefore + 1000);
    const asked = strangers.answered() - askedBefore;
    const cost = (await transactions()) - transactionsBefore;
    const { statuses } = await strangers.stop();
    expect(loaded).toBeGreaterThanOrEqual(CHANNELS.length);
    expect(cost).toBeLessThan(asked / 10);
    // Those who ask before the first list is read may be told that nobody can tell yet.
    expect(['404', '503']).toEqual(expect.arrayContaining(Object.keys(statuses)));
  });

  it('a new app is known at once where it was created, and on other nodes also without Redis', async () => {
    const second = await cluster.addNode();
    const announced = await timesOf(second, await createTenant(first));
    second.redisProxy.blackhole();
    const polled = await timesOf(second, await createTenant(first));
    expect(announced).toBeLessThan(PROPAGATION_MS_MAX);
    expect(polled).toBeLessThan(PROPAGATION_WITHOUT_REDIS_MS_MAX);
  });

  /** Returns the milliseconds until another node serves a new app, asked for by its ref and by its id. */
  async function timesOf(other: ClusterNode, created: Tenant): Promise<number> {
    const began = performance.now();
    for (const app of [created.app, created.appId]) {
      expect((await new Tenant(first, { app }).check('1.0.0')).status).toBe(204);
      await eventually('another node knows it', async () => {
        return (await new Tenant(other, { app }).check('1.0.0')).status === 204;
      });
    }
    return performance.now() - began;
  }

  it('a node that starts while PostgreSQL is silent serves what Redis knows, and lets no stranger wait', async () => {
    const node = await startLate(true);
    const strangers = await flood(node, 40, 100);
    const time = await timeOfCold(node, 'd', tenant.appId);
    const { statuses, unanswered, longestMs } = await strangers.stop();
    expect([Object.keys(statuses), unanswered]).toEqual([['503'], 0]);
    expect(Math.max(time, longestMs)).toBeLessThan(COLD_MS_MAX);
  });

  async function transactions(): Promise<number> {
    const { rows } = await cluster.query<{ count: string }>(
      `SELECT xact_commit + xact_rollback AS count FROM pg_stat_database
       WHERE datname = current_database()`,
    );
    return Number(rows[0]?.count);
  }
});

async function isReady(node: ServingNode): Promise<boolean> {
  return (await send(node, 'GET', '/readyz')).status === 200;
}
