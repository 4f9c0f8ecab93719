// Tests first offers of a node whose PostgreSQL is far, slow or gone, or which is frozen in the middle of one
// (docs/contract.md 14.2 to 14.4).

import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnRealStores } from '../support/backend.ts';
import { type Cluster, type ClusterNode, startCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { type Proxy as NetworkProxy, startProxy } from '../support/tcp-proxy.ts';
import { check, control, createTenant, publish, type Tenant } from '../support/tenant.ts';

/** Time in which a publisher expects a pause to be answered, whatever another node does. */
const PAUSE_MS_MAX = 2000;
const ROUND_TRIP_MS = 400;

describeOnRealStores('a first offer', () => {
  let cluster: Cluster;
  let near: ClusterNode;
  let network: NetworkProxy;

  beforeAll(async () => {
    cluster = await startCluster();
    network = await startProxy(cluster.postgres.port);
    near = await cluster.addNode();
  });
  afterAll(async () => {
    await cluster?.dispose();
    await network?.close();
  });

  /** Returns the version that a node offers a device on 0.9.0, or the status of its answer. */
  async function offeredBy(node: ClusterNode, tenant: Tenant): Promise<unknown> {
    const { status, body } = await check(node, tenant, '0.9.0');
    return status === 200 ? body?.version : status;
  }

  /** Starts a node that reaches PostgreSQL through `network`. */
  function addFarNode(settings = {}): Promise<ClusterNode> {
    const far = new URL(cluster.databaseUrl);
    far.port = String(network.port);
    return cluster.addNode({ DATABASE_URL: far.href, ...settings });
  }

  it('in which its node is frozen does not hold up a pause (§14.4)', async () => {
    const tenant = await createTenant(near);
    await publish(near, tenant, '1.0.0');
    const far = await addFarNode();
    await eventually('1.0.0 is offered', async () => (await offeredBy(far, tenant)) === '1.0.0');
    network.delay(100);
    await publish(near, tenant, '1.1.0');
    const { rows } = await cluster.query<{ now: string }>('SELECT clock_timestamp()::text AS now');
    const since = rows[0]?.now;
    let isFrozen = false;
    const asking = (async () => {
      while (!isFrozen) await check(far, tenant, '0.9.0').catch(() => undefined);
    })();
    await eventually('the node is inside its first offer', async () => {
      const { rows } = await cluster.query(
        `SELECT FROM pg_stat_activity WHERE application_name = 'sluice'
         AND query_start > '${since}' AND query ~ 'FOR SHARE|record_first_offer'`,
      );
      return rows.length > 0;
    });
    process.kill(far.process.pid, 'SIGSTOP');
    isFrozen = true;
    const start = performance.now();
    const paused = await control(near, tenant, '1.1.0', { status: 'paused' });
    const tookMs = performance.now() - start;
    process.kill(far.process.pid, 'SIGCONT');
    network.delay(0);
    await asking;
    console.log(`a pause beside a frozen first offer: ${Math.round(tookMs)} ms`);
    expect(paused.status).toBe(200);
    expect(tookMs).toBeLessThan(PAUSE_MS_MAX);
    await eventually('the pause holds', async () => (await offeredBy(far, tenant)) === '1.0.0');
  });

  it('over 400 ms round trips is made, and so is the one that another node has made', async () => {
    const tenant = await createTenant(near);
    await publish(near, tenant, '1.0.0');
    // Without Redis, nothing but PostgreSQL tells the node what was offered.
    const far = await addFarNode({ REDIS_URL: '' });
    await eventually('1.0.0 is offered', async () => (await offeredBy(far, tenant)) === '1.0.0');
    network.delay(ROUND_TRIP_MS / 2);
    for (const [version, first] of [
      ['1.1.0', near],
      ['1.2.0', far],
    ] as const) {
      await publish(near, tenant, version);
      const start = performance.now();
      for (const node of [first, near, far]) {
        await eventually(
          `${version} is offered`,
          async () => (await offeredBy(node, tenant)) === version,
        );
      }
      const tookMs = Math.round(performance.now() - start);
      console.log(`offered by all nodes, one of them ${ROUND_TRIP_MS} ms away: ${tookMs} ms`);
    }
    network.delay(0);
  });
});
