// Tests that strangers who ask for names that do not exist keep nobody from being served: neither while
// PostgreSQL hangs, nor on a node that has just started (docs/contract.md 15.3).

import { cpSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeOnRealStores } from '../support/backend.ts';
import { type Cluster, type ClusterNode, startCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { metricsOf } from '../support/metrics.ts';
import type { ServingNode } from '../support/node.ts';
import { startStrangers } from '../support/strangers.ts';
import { type NetworkProxy, startProxy } from '../support/tcp-proxy.ts';
import { admin, check, createTenant, publish, send, type Tenant } from '../support/tenant.ts';

/**
 * Longest time until a channel is served that lies in Redis or on disk: about a second, and room for a busy
 * machine.
 */
const COLD_MS_MAX = 5000;
/** Longest time until another node knows a new app, and when the announcement is lost (§15.2). */
const PROPAGATION_MS_MAX = 1000;
const PROPAGATION_WITHOUT_REDIS_MS_MAX = 5000;
const CHANNELS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'] as const;

describeOnRealStores('names of channels', () => {
  let cluster: Cluster;
  let first: ClusterNode;
  let tenant: Tenant;

  beforeAll(async () => {
    cluster = await startCluster();
    first = await cluster.addNode();
    tenant = await createTenant(first);
    for (const name of CHANNELS) {
      await admin(first, 'POST', 'channels', { app: tenant.app, name });
      await publish(first, tenant, '1.0.0', { channel: name });
      await check(first, tenant, '0.9.0', { channel: name });
    }
    await publish(first, tenant, '1.0.0');
    await check(first, tenant, '0.9.0');
  });
  afterAll(() => cluster?.dispose());

  /** Starts a node that has loaded `stable` alone, and whose way to PostgreSQL is a proxy. */
  async function startLate(): Promise<{ node: ClusterNode; toPostgres: NetworkProxy }> {
    const toPostgres = await startProxy(cluster.postgres.port);
    const url = new URL(cluster.databaseUrl);
    url.port = String(toPostgres.port);
    const node = await cluster.addNode({ DATABASE_URL: url.href });
    await check(node, tenant, '0.9.0');
    return { node, toPostgres };
  }

  describe('while PostgreSQL hangs and strangers ask for names that nobody created', () => {
    /** Starts a node, and gives it files of channels that it did not load at the start. */
    async function startCold() {
      const late = await startLate();
      const folder = join(late.node.dataDir, 'snapshots');
      await eventually('it has made its folder', () => existsSync(folder));
      cpSync(join(first.dataDir, 'snapshots'), folder, { recursive: true });
      return late;
    }

    it.each([
      ['it is stopped (SIGSTOP)', freeze, ['a', 'b']],
      ['the network swallows everything', swallow, ['c', 'd']],
      ['the table of channels is locked', lockChannels, ['e', 'f']],
    ] as const)(
      '%s: a channel on disk and in Redis is served in about a second',
      async (what, hang, channels) => {
        const { node, toPostgres } = await startCold();
        const end = await hang(toPostgres);
        const strangers = startStrangers(node, 40);
        try {
          await eventually('strangers ask', () => strangers.answered() > 0);
          const times: number[] = [];
          for (const channel of channels) {
            const started = performance.now();
            const answer = await check(node, tenant, '0.9.0', { channel });
            times.push(performance.now() - started);
            expect([answer.status, answer.body?.version]).toEqual([200, '1.0.0']);
          }
          const { statuses, unanswered, longestMs } = await strangers.stop();
          const seen = JSON.stringify(statuses);
          console.log(
            `known channels: ${what}: cold channels after ${times.map(ms).join(' and ')};` +
              ` strangers ${seen}, ${unanswered} unanswered, longest ${ms(longestMs)}`,
          );
          expect(Math.max(...times)).toBeLessThan(COLD_MS_MAX);
          expect(unanswered).toBe(0);
          expect(longestMs).toBeLessThan(COLD_MS_MAX);
        } finally {
          await strangers.stop();
          await end();
          await toPostgres.close();
        }
      },
      120_000,
    );

    async function freeze() {
      cluster.postgres.pause();
      return async () => cluster.postgres.resume();
    }

    async function swallow(toPostgres: NetworkProxy) {
      toPostgres.blackhole();
      return async () => toPostgres.heal();
    }

    async function lockChannels() {
      const client = new pg.Client({ connectionString: cluster.databaseUrl });
      await client.connect();
      await client.query('BEGIN; LOCK TABLE channels IN ACCESS EXCLUSIVE MODE');
      return () => client.end();
    }
  });

  it('a node that restarts under a flood of invented names serves all that it served before', async () => {
    const { node, toPostgres } = await startLate();
    for (const channel of CHANNELS) await check(node, tenant, '0.9.0', { channel });
    await node.stop();
    const restarted = await node.restart();
    const strangers = startStrangers(restarted, 300);
    try {
      await eventually('it is ready', () => isReady(restarted));
      const loaded = await metric(restarted, 'sluice_catalogs');
      await eventually('strangers ask', () => strangers.answered() > 300);
      const [askedBefore, transactionsBefore] = [strangers.answered(), await transactions()];
      const statuses: Record<string, number> = {};
      const times: number[] = [];
      for (let round = 0; round < 40; round++) {
        const channel = CHANNELS[round % CHANNELS.length] as string;
        const started = performance.now();
        const { status } = await check(restarted, tenant, '0.9.0', { channel });
        times.push(performance.now() - started);
        statuses[status] = (statuses[status] ?? 0) + 1;
      }
      await eventually('strangers asked', () => strangers.answered() > askedBefore + 1000);
      const asked = strangers.answered() - askedBefore;
      const cost = (await transactions()) - transactionsBefore;
      const summary = await strangers.stop();
      console.log(
        `known channels: restart under a flood: ready with ${loaded} channels;` +
          ` devices ${JSON.stringify(statuses)}, slowest ${ms(Math.max(...times))};` +
          ` ${asked} invented names, ${cost} transactions of PostgreSQL;` +
          ` strangers ${JSON.stringify(summary.statuses)}`,
      );
      expect(loaded).toBeGreaterThanOrEqual(CHANNELS.length + 1);
      expect(statuses).toEqual({ 200: 40 });
      expect(cost).toBeLessThan(asked / 10);
      // Those who ask before the first list is read may be told that nobody can tell yet.
      expect(['404', '503']).toEqual(expect.arrayContaining(Object.keys(summary.statuses)));
    } finally {
      await strangers.stop();
      await restarted.dispose();
      await toPostgres.close();
    }
  });

  it('a new app is known at once where it was created, and on other nodes also without Redis', async () => {
    const second = await cluster.addNode();
    try {
      const announced = await timesOf(second, await createTenant(first));
      await second.redisProxy.blackhole();
      const polled = await timesOf(second, await createTenant(first));
      console.log(
        `known channels: a new app is served by another node after ${ms(announced)};` +
          ` without Redis, after ${ms(polled)}`,
      );
      expect(announced).toBeLessThan(PROPAGATION_MS_MAX);
      expect(polled).toBeLessThan(PROPAGATION_WITHOUT_REDIS_MS_MAX);
    } finally {
      second.redisProxy.heal();
    }
  });

  /** Returns the milliseconds until another node serves a new app, asked for by its ref and by its id. */
  async function timesOf(other: ClusterNode, created: Tenant): Promise<number> {
    const began = performance.now();
    for (const app of [created.app, created.appId]) {
      expect((await check(first, { app }, '1.0.0')).status).toBe(204);
      await eventually('another node knows it', async () => {
        return (await check(other, { app }, '1.0.0')).status === 204;
      });
    }
    return performance.now() - began;
  }

  it('a node that starts while PostgreSQL is silent serves what Redis knows, and lets no stranger wait', async () => {
    const toPostgres = await startProxy(cluster.postgres.port);
    toPostgres.blackhole();
    const url = new URL(cluster.databaseUrl);
    url.port = String(toPostgres.port);
    const node = await cluster.addNode({ DATABASE_URL: url.href });
    const strangers = startStrangers(node, 40);
    try {
      await eventually('strangers were answered', () => strangers.answered() > 100);
      const started = performance.now();
      const answer = await check(node, { app: tenant.appId }, '0.9.0', { channel: 'g' });
      const time = performance.now() - started;
      const { statuses, unanswered, longestMs } = await strangers.stop();
      console.log(
        `known channels: start without PostgreSQL: a channel of Redis after ${ms(time)};` +
          ` strangers ${JSON.stringify(statuses)}, longest ${ms(longestMs)}`,
      );
      expect([answer.status, answer.body?.version]).toEqual([200, '1.0.0']);
      expect([Object.keys(statuses), unanswered]).toEqual([['503'], 0]);
      expect(Math.max(time, longestMs)).toBeLessThan(COLD_MS_MAX);
    } finally {
      await strangers.stop();
      await toPostgres.close();
    }
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

async function metric(node: ServingNode, name: string): Promise<number> {
  const text = await metricsOf(node);
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
}

function ms(value: number): string {
  return `${Math.round(value)} ms`;
}
