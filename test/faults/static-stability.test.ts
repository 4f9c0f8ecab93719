// Tests a node while a store is away: it decides from what it has, never claims what it cannot know, and
// recovers by itself (docs/contract.md 14.3 and 15.3).

import { existsSync, readdirSync, readFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { logLines } from '../support/admin-address.ts';
import { describeOnRealStores } from '../support/backend.ts';
import { type Cluster, type ClusterNode, startCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { expectUnavailable } from '../support/expect-error.ts';
import { metricsOf } from '../support/metrics.ts';
import type { ServingNode } from '../support/node.ts';
import { type Answer, ARTIFACT, createTenant, send, Tenant } from '../support/tenant.ts';

describeOnRealStores('when a store is away', () => {
  let cluster: Cluster;
  let node: ClusterNode;
  let tenant: Tenant;
  /** What brings the stores back that a test took away. */
  const endings: (() => unknown)[] = [];

  beforeAll(async () => {
    cluster = await startCluster();
    node = await cluster.addNode();
  });
  afterAll(() => cluster?.dispose());
  beforeEach(async () => {
    tenant = await createTenant(node, ['1.0.0']);
    // For a second after a fault a node makes no first offer.
    await tenant.untilOffered('1.0.0');
  });
  afterEach(async () => {
    await bringBack();
    await eventually('the node publishes', async () => {
      return (await tenant.publish(`9.0.${Date.now()}`)).status === 201;
    });
  });

  /** Takes a store away until the end of the test. */
  async function lose(store: 'postgres' | 'redis', how: 'kill' | 'pause'): Promise<void> {
    const server = cluster[store];
    endings.push(() => (how === 'kill' ? server.restart() : server.resume()));
    await server[how]();
  }

  async function bringBack(): Promise<void> {
    for (const end of endings.splice(0).reverse()) await end();
  }

  /**
   * Expects 503 for a name that the node does not know. PostgreSQL told the node a moment ago that the name
   * does not exist, which holds for as long as a change may take to reach a node.
   */
  async function expectSoonUnknowable(ask: () => Promise<Answer>): Promise<void> {
    let answer = await ask();
    await eventually('the list of names is too old to say "unknown"', async () => {
      answer = await ask();
      return answer.status !== 404;
    });
    expectUnavailable(answer);
  }

  it('a store that is lost and comes back is told once each: in the log, in the figures and by /readyz', async () => {
    const storeUp = async () => (await metricsOf(node)).match(/^sluice_store_up.*$/gm);
    const degraded = async () => (await send(node, 'GET', '/readyz')).body?.degraded;
    const up = ['sluice_store_up{store="ledger"} 1', 'sluice_store_up{store="engine"} 1'];
    expect(await storeUp()).toEqual(up);
    for (const [store, server] of [
      ['ledger', cluster.postgres],
      ['engine', cluster.redis],
    ] as const) {
      await server.kill();
      await eventually('/readyz tells', async () => (await degraded()) !== undefined);
      expect(await degraded()).toMatchObject([{ store, since: expect.any(String) }]);
      await expect.poll(storeUp).toContain(`sluice_store_up{store="${store}"} 0`);
      await server.restart();
      await eventually('/readyz is as before', async () => (await degraded()) === undefined);
      const told = () =>
        logLines(node.output())
          .filter((line) => line.store === store && line.part === undefined)
          .map(({ level, msg, afterMs }) => `${level} ${msg} ${typeof afterMs}`);
      // The log of a process reaches the tests a moment after its answers.
      await expect.poll(told).toEqual(['warn store lost undefined', 'warn store back number']);
    }
  });

  it.each(['kill', 'pause'] as const)(
    'PostgreSQL gone (%s): it serves what it knows, and tells no 404 or 204 for the rest',
    async (how) => {
      const file = { platform: 'windows', url: 'https://a.example/a.exe', sha512: 'c3Vt' };
      const both = { artifacts: [ARTIFACT, file] };
      await tenant.publish('1.1.0', both);
      const ask = () => tenant.check('0.9.0');
      const readFile = () => send(node, 'GET', `/e/${tenant.app}/stable/latest.yml`);
      await expect.poll(async () => (await ask()).body?.version).toBe('1.1.0');
      const before = await readFile();
      expect(before.text).toContain("version: '1.1.0'");
      await tenant.publish('1.2.0', both);
      await lose('postgres', how);
      // 1.2.0 was never offered, and is skipped: the one below is offered, by update files too (§4.8).
      const answers = await Promise.all(Array.from({ length: 20 }, ask));
      for (let round = 0; round < 10; round++) answers.push(await ask());
      expect(answers.map(({ body }) => body?.version)).toEqual(answers.map(() => '1.1.0'));
      expect((await readFile()).text).toBe(before.text);
      // A device that runs 1.1.0 is not up to date, and there is nothing else to offer it.
      expectUnavailable(await tenant.check('1.1.0'));
      expect((await tenant.check('1.2.0')).status).toBe(204);
      expect((await send(node, 'GET', '/readyz')).status).toBe(200);
      expectUnavailable(await tenant.publish('1.3.0'));
      expectUnavailable(await tenant.control('1.1.0', { status: 'paused' }));
      await expectSoonUnknowable(() => new Tenant(node, { app: 'never-heard-of' }).check('1.0.0'));
      expectUnavailable(await send(node, 'GET', '/e/never-heard-of/stable/latest.yml'));
      await bringBack();
      await eventually('it is offered', async () => (await ask()).body?.version === '1.2.0');
    },
  );

  it('PostgreSQL gone: a new node, and one with a damaged disk, serve what Redis knows', async () => {
    const doomed = await startDoomed();
    await doomed.kill();
    await lose('postgres', 'kill');
    for (const path of indexesOnDisk(doomed.dataDir)) truncateSync(path, 40);
    const [restarted, late] = await Promise.all([doomed.restart(), cluster.addNode()]);
    for (const each of [restarted, late]) {
      expect(await tenant.at(each).offered()).toBe('1.0.0');
      expectUnavailable(await new Tenant(each, { app: 'never-heard-of' }).check('1.0.0'));
    }
    expect(restarted.output()).toContain('could not be read');
    await Promise.all([restarted.dispose(), late.dispose()]);
  });

  it.each(['kill', 'pause'] as const)(
    'Redis gone (%s): checks, publishing and steering go on, and the rate limit still counts',
    async (how) => {
      await lose('redis', how);
      expect((await tenant.publish('1.1.0')).status).toBe(201);
      expect(await tenant.offered()).toBe('1.1.0');
      expect((await tenant.control('1.1.0', { status: 'rolled_back' })).status).toBe(200);
      const downgrade = await tenant.check('1.1.0');
      expect(downgrade.body).toMatchObject({ version: '1.0.0', allowDowngrade: true });
      // The limit counts per process meanwhile, however Redis is away.
      if (how === 'pause') return;
      const statuses = new Set<number>();
      for (let call = 0; call < 301; call++) {
        statuses.add((await tenant.manage('GET', 'apps')).status);
      }
      expect([...statuses].sort()).toEqual([200, 429]);
    },
  );

  it('Redis gone, then PostgreSQL too: nodes go on, also restarted, from their disk, and by themselves when both are back', async () => {
    const doomed = await startDoomed();
    await tenant.publish('1.1.0');
    await lose('redis', 'kill');
    await doomed.kill();
    let restarted: ServingNode = await doomed.restart();
    try {
      expect((await tenant.at(restarted).publish('1.2.0', { status: 'paused' })).status).toBe(201);
      await lose('postgres', 'kill');
      await restarted.kill();
      restarted = await restarted.restart();
      for (const each of [node, restarted]) {
        // 1.1.0 was never offered, and no store can take note that it is.
        expect(await tenant.at(each).offered()).toBe('1.0.0');
        expect((await send(each, 'GET', '/readyz')).status).toBe(200);
        expectUnavailable(await tenant.at(each).publish('1.3.0'));
      }
      expectUnavailable(await new Tenant(restarted, { app: 'never-heard-of' }).check('1.0.0'));
      await bringBack();
      for (const each of [node, restarted]) {
        await tenant.at(each).untilOffered('1.1.0');
      }
    } finally {
      await restarted.dispose();
    }
  });

  /** Starts a node that has the offer of 1.0.0 on its disk. */
  async function startDoomed(): Promise<ClusterNode> {
    const doomed = await cluster.addNode();
    await tenant.at(doomed).untilOffered('1.0.0');
    // A release that was offered is marked with an asterisk.
    await eventually('the offer is on disk', () =>
      indexesOnDisk(doomed.dataDir).some((path) => readFileSync(path, 'utf8').includes('*')),
    );
    return doomed;
  }
});

/** Lists the paths of the indexes that a node has on its disk. */
function indexesOnDisk(dataDir: string): string[] {
  const folder = join(dataDir, 'snapshots');
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.filter((name) => name.endsWith('.json')).map((name) => join(folder, name));
}
