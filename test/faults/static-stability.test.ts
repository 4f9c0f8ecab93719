// Tests a node while a store is away: it decides from what it has, never claims what it cannot know, and
// recovers by itself (docs/contract.md 14.3 and 15.3).

import { existsSync, readdirSync, readFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { describeOnRealStores } from '../support/backend.ts';
import { type Cluster, type ClusterNode, startCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { metricsOf } from '../support/metrics.ts';
import {
  type Answer,
  check,
  control,
  createTenant,
  publish,
  send,
  type Tenant,
} from '../support/tenant.ts';

/** Returns the log of a node, line by line. */
function linesOf(node: Pick<ClusterNode, 'output'>): Record<string, unknown>[] {
  const lines = node
    .output()
    .split('\n')
    .filter((line) => line.startsWith('{'));
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** Time limit of a test, which takes stores away and starts nodes. */

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
    tenant = await createTenant(node);
    await publish(node, tenant, '1.0.0');
    // For a second after a fault a node makes no first offer.
    await eventually('it is offered', async () => {
      return (await check(node, tenant, '0.9.0')).body?.version === '1.0.0';
    });
  });
  afterEach(async () => {
    await bringBack();
    await eventually('the node publishes', async () => {
      return (await publish(node, tenant, `9.0.${Date.now()}`)).status === 201;
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

  function expectUnavailable(answer: Answer): void {
    expect(answer.status).toBe(503);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(answer.body).toEqual({ error: expect.any(String) });
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
    expect(await storeUp()).toEqual([
      'sluice_store_up{store="ledger"} 1',
      'sluice_store_up{store="engine"} 1',
    ]);
    const degraded = async () => (await send(node, 'GET', '/readyz')).body?.degraded;
    for (const [store, server] of [
      ['ledger', cluster.postgres],
      ['engine', cluster.redis],
    ] as const) {
      await server.kill();
      await eventually('/readyz tells', async () => (await degraded()) !== undefined);
      expect(await degraded()).toMatchObject([{ store, since: expect.any(String) }]);
      await eventually('the figures tell', async () => {
        return (await storeUp())?.includes(`sluice_store_up{store="${store}"} 0`) ?? false;
      });
      await server.restart();
      await eventually(
        '/readyz is as before',
        async () => (await degraded()) === undefined,
        15_000,
      );
      const lines = () =>
        linesOf(node).filter((line) => line.store === store && line.part === undefined);
      // The log of a process reaches the tests a moment after its answers.
      await eventually('the log tells', () => lines().length >= 2);
      const told = lines();
      expect(told.map(({ level, msg }) => `${level} ${msg}`)).toEqual([
        'warn store lost',
        'warn store back',
      ]);
      expect(told[1]).toMatchObject({
        afterMs: expect.any(Number),
        failedCalls: expect.any(Number),
      });
    }
  });

  it.each(['kill', 'pause'] as const)(
    'PostgreSQL gone (%s): it serves what it knows, and tells no 404 or 204 for the rest',
    async (how) => {
      await publish(node, tenant, '1.1.0');
      await lose('postgres', how);
      // 1.1.0 was never offered, and is skipped: the one below is offered.
      const ask = () => check(node, tenant, '0.9.0');
      const answers = await Promise.all(Array.from({ length: 20 }, ask));
      for (let round = 0; round < 30; round++) answers.push(await ask());
      expect(answers.map(({ body }) => body?.version)).toEqual(answers.map(() => '1.0.0'));
      // A device that runs 1.0.0 is not up to date, and there is nothing else to offer it.
      expectUnavailable(await check(node, tenant, '1.0.0'));
      expect((await check(node, tenant, '1.1.0')).status).toBe(204);
      expect((await send(node, 'GET', '/readyz')).status).toBe(200);
      expectUnavailable(await publish(node, tenant, '1.2.0'));
      expectUnavailable(await control(node, tenant, '1.0.0', { status: 'paused' }));
      await expectSoonUnknowable(() => check(node, { app: 'never-heard-of' }, '1.0.0'));
      await bringBack();
      await eventually('it is offered', async () => (await ask()).body?.version === '1.1.0');
    },
  );

  it('PostgreSQL gone: an update file shows what was offered before, never a first offer (§4.8, §14.3)', async () => {
    const artifact = { platform: 'windows', url: 'https://a.example/a.exe', sha512: 'c3Vt' };
    const file = `/e/${tenant.app}/stable/latest.yml`;
    await publish(node, tenant, '1.1.0', { artifacts: [artifact] });
    const before = await send(node, 'GET', file);
    expect(before.text).toContain("version: '1.1.0'");
    await publish(node, tenant, '1.2.0', { artifacts: [artifact] });
    await lose('postgres', 'kill');
    const answer = await send(node, 'GET', file);
    expect([answer.status, answer.text]).toEqual([200, before.text]);
    await expectSoonUnknowable(() => send(node, 'GET', '/e/never-heard-of/stable/latest.yml'));
  });

  it('PostgreSQL gone: a new node, and one with a damaged disk, serve what Redis knows', async () => {
    const doomed = await cluster.addNode();
    await eventually('it offers', async () => {
      return (await check(doomed, tenant, '0.9.0')).body?.version === '1.0.0';
    });
    await eventually('the offer is on disk', () => hasOfferOnDisk(doomed.dataDir));
    await doomed.kill();
    await lose('postgres', 'kill');
    for (const path of indexesOnDisk(doomed.dataDir)) truncateSync(path, 40);
    const [restarted, late] = await Promise.all([doomed.restart(), cluster.addNode()]);
    for (const each of [restarted, late]) {
      expect((await check(each, tenant, '0.9.0')).body?.version).toBe('1.0.0');
      expectUnavailable(await check(each, { app: 'never-heard-of' }, '1.0.0'));
    }
    const damaged = linesOf(restarted).filter(({ msg }) =>
      String(msg).endsWith('could not be read'),
    );
    expect(damaged.length).toBeGreaterThan(0);
    await Promise.all([restarted.dispose(), late.dispose()]);
  });

  it.each(['kill', 'pause'] as const)(
    'Redis gone (%s): checks, publishing and steering go on, and the rate limit still counts',
    async (how) => {
      await lose('redis', how);
      expect((await publish(node, tenant, '1.1.0')).status).toBe(201);
      expect((await check(node, tenant, '0.9.0')).body?.version).toBe('1.1.0');
      expect((await control(node, tenant, '1.1.0', { status: 'rolled_back' })).status).toBe(200);
      const downgrade = await check(node, tenant, '1.1.0');
      expect(downgrade.body).toMatchObject({ version: '1.0.0', allowDowngrade: true });
      // The limit counts per process meanwhile, however Redis is away.
      if (how === 'pause') return;
      const statuses = new Set<number>();
      for (let call = 0; call < 301; call++) {
        statuses.add((await send(node, 'GET', '/api/v1/apps', bearer(tenant))).status);
      }
      expect([...statuses].sort()).toEqual([200, 429]);
    },
  );

  it.each(['kill', 'pause'] as const)(
    'both gone (%s): what the node knows it keeps serving, and it goes on by itself when they are back',
    async (how) => {
      await publish(node, tenant, '1.1.0');
      await Promise.all([lose('postgres', how), lose('redis', how)]);
      for (let round = 0; round < 50; round++) {
        // 1.1.0 was never offered, and no store can take note that it is.
        expect((await check(node, tenant, '0.9.0')).body?.version).toBe('1.0.0');
      }
      expect((await send(node, 'GET', '/readyz')).status).toBe(200);
      expectUnavailable(await publish(node, tenant, '1.2.0'));
      await bringBack();
      await eventually('1.1.0 is offered', async () => {
        return (await check(node, tenant, '0.9.0')).body?.version === '1.1.0';
      });
    },
  );

  it('Redis gone and the node restarted: it serves and publishes by PostgreSQL', async () => {
    const doomed = await cluster.addNode();
    await lose('redis', 'kill');
    await doomed.kill();
    const restarted = await doomed.restart();
    expect((await check(restarted, tenant, '0.9.0')).body?.version).toBe('1.0.0');
    expect((await publish(restarted, tenant, '1.1.0')).status).toBe(201);
    expect((await check(restarted, tenant, '0.9.0')).body?.version).toBe('1.1.0');
    await restarted.dispose();
  });

  it('both gone and the node restarted: it serves the last known state from its disk', async () => {
    const doomed = await cluster.addNode();
    await eventually('it offers', async () => {
      return (await check(doomed, tenant, '0.9.0')).body?.version === '1.0.0';
    });
    await eventually('the offer is on disk', () => hasOfferOnDisk(doomed.dataDir));
    await lose('postgres', 'kill');
    await lose('redis', 'kill');
    await doomed.kill();
    const restarted = await doomed.restart();
    try {
      expect((await check(restarted, tenant, '0.9.0')).body?.version).toBe('1.0.0');
      expect((await send(restarted, 'GET', '/readyz')).status).toBe(200);
      expectUnavailable(await check(restarted, { app: 'never-heard-of' }, '1.0.0'));
      await cluster.postgres.restart();
      await eventually('the ledger is asked again', async () => {
        return (await publish(restarted, tenant, '1.1.0')).status === 201;
      });
      expect((await check(restarted, tenant, '0.9.0')).body?.version).toBe('1.1.0');
    } finally {
      await restarted.dispose();
    }
  });
});

/** Whether an index on disk has a release that was offered, which is marked with an asterisk. */
function hasOfferOnDisk(dataDir: string): boolean {
  return indexesOnDisk(dataDir).some((path) => readFileSync(path, 'utf8').includes('*'));
}

/** Lists the paths of the indexes that a node has on its disk. */
function indexesOnDisk(dataDir: string): string[] {
  const folder = join(dataDir, 'snapshots');
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.filter((name) => name.endsWith('.json')).map((name) => join(folder, name));
}

function bearer(tenant: Tenant) {
  return { headers: { authorization: `Bearer ${tenant.secret}` } };
}
