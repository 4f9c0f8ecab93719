// Tests idempotency keys on two nodes with real stores: a call that is repeated on another node while the
// first one still runs publishes once, and both get the same answer.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnRealStores } from '../support/backend.ts';
import { type Cluster, type ClusterNode, startCluster } from '../support/cluster.ts';
import { type Answer, check, createTenant, send, type Tenant } from '../support/tenant.ts';

const ROUNDS = 100;

describeOnRealStores('idempotent publishing on two nodes', () => {
  let cluster: Cluster;
  let nodes: readonly [ClusterNode, ClusterNode];
  let tenant: Tenant;

  beforeAll(async () => {
    cluster = await startCluster();
    nodes = await Promise.all([cluster.addNode(), cluster.addNode()]);
    tenant = await createTenant(nodes[0]);
  });
  afterAll(() => cluster?.dispose());

  function publishOn(node: ClusterNode, version: string): Promise<Answer> {
    const headers = { authorization: `Bearer ${tenant.secret}`, 'idempotency-key': version };
    const artifacts = [{ platform: 'linux', url: 'https://downloads.example.com/a' }];
    const body = { app: tenant.app, channel: 'stable', version, artifacts };
    return send(node, 'POST', '/api/v1/releases', { body, headers });
  }

  it(`${ROUNDS} calls, each on both nodes at once: one publishes, and both serve it when they answer (§11.18)`, async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const version = `1.${round}.0`;
      const answers = await Promise.all(
        nodes.map(async (node) => {
          const answer = await publishOn(node, version);
          const offered = await check(node, tenant, '0.9.0');
          return { answer, offered };
        }),
      );
      expect(answers.map(({ answer }) => answer.status)).toEqual([201, 201]);
      expect(new Set(answers.map(({ answer }) => answer.text)).size).toBe(1);
      const isReplayed = answers.map(({ answer }) => answer.headers.has('idempotent-replayed'));
      expect(isReplayed.sort()).toEqual([false, true]);
      expect(answers.map(({ offered }) => offered.body?.version)).toEqual([version, version]);
    }
    const audited = await cluster.query<{ count: number }>(
      "SELECT count(*)::int AS count FROM audit_entries WHERE action = 'release.publish'",
    );
    expect(audited.rows).toEqual([{ count: ROUNDS }]);
  }, 120_000);
});
