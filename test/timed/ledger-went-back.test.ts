// Measures how soon nodes serve a database that went back on the same server (docs/contract.md 15.5): idle
// nodes within 5 seconds, nodes that start with their first answers. With a standby:
// test/faults/ledger-went-back.test.ts.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnRealStores } from '../support/backend.ts';
import { type Cluster, type ClusterNode, startCluster } from '../support/cluster.ts';
import { eventually, sleep } from '../support/eventually.ts';
import { metricsOf } from '../support/metrics.ts';
import type { ServingNode } from '../support/node.ts';
import { check, createTenant, publish, type Tenant } from '../support/tenant.ts';

/** Promised time until every node serves the ledger's state, in milliseconds. */
const PROMISE_MS = 5000;
/** Pause between two checks of a device that waits: it may ask 120 times in a minute. */
const ASK_INTERVAL_MS = 100;

type Channel = { readonly id: string; readonly revision: number };

describeOnRealStores('a database that went back on the same server', () => {
  let cluster: Cluster;
  let nodes: [ClusterNode, ClusterNode];
  let tenant: Tenant;
  beforeAll(async () => {
    cluster = await startCluster();
    nodes = await Promise.all([cluster.addNode(), cluster.addNode()]);
    tenant = await createTenant(nodes[0]);
  });
  afterAll(() => cluster?.dispose());

  async function untilAllOffer(each: readonly ServingNode[], version: string): Promise<void> {
    for (const node of each) {
      await eventually(`${node.url} offers ${version}`, async () => {
        const { body } = await check(node, tenant, '0.9.0', { device: 'device-1' });
        if (body?.version === version) return true;
        await sleep(ASK_INTERVAL_MS);
        return false;
      });
    }
  }

  it('is followed within 5 s by idle nodes, and by nodes that start', {
    timeout: 120_000,
  }, async () => {
    const [n1, n2] = nodes;
    await publish(n1, tenant, '1.0.0');
    const earlier = await cluster.query<Channel>('SELECT id, revision FROM channels');
    for (const version of ['1.1.0', '1.2.0', '1.3.0']) await publish(n1, tenant, version);
    await untilAllOffer(nodes, '1.3.0');
    await goBack(earlier.rows);
    const wentBackAt = performance.now();
    await untilAllOffer(nodes, '1.0.0');
    const rightMs = Math.round(performance.now() - wentBackAt);
    console.info(`same server: all right after ${rightMs} ms`);
    expect(rightMs).toBeLessThan(PROMISE_MS);

    // Once more, while no node runs: Redis and the disks have the later state.
    for (const version of ['2.0.0', '2.1.0']) await publish(n1, tenant, version);
    await untilAllOffer(nodes, '2.1.0');
    await Promise.all([n1.stop(), n2.stop()]);
    await goBack(earlier.rows);
    const restarted = await Promise.all([n1.restart(), n2.restart()]);
    try {
      const startedAt = performance.now();
      await untilAllOffer(restarted, '1.0.0');
      console.info(`restarted: right after ${Math.round(performance.now() - startedAt)} ms`);
      expect((await publish(restarted[0], tenant, '1.5.0')).status).toBe(201);
      const answer = await check(restarted[0], tenant, '0.9.0');
      expect(answer.body?.version).toBe('1.5.0');
      await untilAllOffer(restarted, '1.5.0');
      const figures = (await Promise.all(restarted.map(metricsOf))).join('\n');
      const raised = /^sluice_ledger_rewinds_total\{event="epoch-raised"\} [1-9]/gm;
      expect(figures.match(raised)).toEqual([
        'sluice_ledger_rewinds_total{event="epoch-raised"} 1',
      ]);
    } finally {
      await Promise.all(restarted.map((node) => node.dispose()));
    }
  });

  /** Makes the database what it was: the later releases are gone, and the revisions are the earlier ones. */
  async function goBack(channels: readonly Channel[]): Promise<void> {
    const revisions = channels.map(({ id, revision }) => `('${id}', ${revision})`).join(', ');
    await cluster.query(`BEGIN;
      SET LOCAL session_replication_role = replica;
      DELETE FROM artifacts WHERE release_id IN (SELECT id FROM releases WHERE version <> '1.0.0');
      DELETE FROM releases WHERE version <> '1.0.0';
      UPDATE channels SET revision = earlier.revision
        FROM (VALUES ${revisions}) AS earlier (id, revision) WHERE earlier.id = channels.id;
      COMMIT`);
  }
});
