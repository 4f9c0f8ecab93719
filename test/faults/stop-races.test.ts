// Tests stops against other calls on two nodes: whatever comes first, each published release is paused by one
// stop, and published again by one resumption of it (docs/contract.md 4.21 and 4.22).

import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnRealStores } from '../support/backend.ts';
import { type Cluster, type ClusterNode, startCluster } from '../support/cluster.ts';
import { IS_FULL } from '../support/full-run.ts';
import { auditOf, type Json, releasesOf } from '../support/published.ts';
import {
  type Answer,
  control,
  createTenant,
  manage,
  publish,
  type Tenant,
} from '../support/tenant.ts';

const ROUNDS = IS_FULL ? 100 : 12;
const TIMEOUT_MS = 120_000;

describeOnRealStores('stops race', () => {
  let cluster: Cluster;
  let nodes: [ClusterNode, ClusterNode];

  beforeAll(async () => {
    cluster = await startCluster();
    nodes = await Promise.all([cluster.addNode(), cluster.addNode()]);
  });
  afterAll(() => cluster?.dispose());

  const stop = (node: ClusterNode, tenant: Tenant, more: Json = {}) =>
    manage(node, tenant, 'POST', 'stop', { app: tenant.app, ...more });

  const stopOf = ({ body }: Answer) => (body?.stop ?? {}) as Json;
  const listOf = (list: unknown) => (list ?? []) as Json[];

  it('stops on both nodes with publishes, raises and resumptions', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const [here, there] = nodes;
    for (let round = 0; round < ROUNDS; round++) {
      const tenant = await createTenant(here);
      await publish(here, tenant, '1.0.0', { rollout: 10 });
      await publish(here, tenant, '1.0.0', { channel: 'beta' });
      const first = stopOf(await stop(there, tenant));
      const answers = await Promise.all([
        stop(here, tenant),
        stop(there, tenant, { channel: 'stable' }),
        publish(there, tenant, '2.0.0'),
        control(here, tenant, '1.0.0', { rollout: 60 }),
        manage(there, tenant, 'POST', 'resume', { stop: first.id }),
        manage(here, tenant, 'POST', 'resume', { stop: first.id }),
      ]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 201, 200, 200, 200]);
      const released = answers.slice(4).flatMap(({ body }) => listOf(body?.released));
      expect(released).toHaveLength(2);
      const stopped = answers.slice(0, 2).flatMap((each) => listOf(stopOf(each).releases));
      const releases = await releasesOf(there, tenant);
      const paused = releases.filter(({ status }) => status === 'paused');
      const named = paused.map(({ channel, version }) => ({ channel, version }));
      expect(named).toHaveLength(stopped.length);
      expect(named).toEqual(expect.arrayContaining(stopped));
      const entries = await auditOf(here, tenant, 'action=release.serve&limit=100');
      const byStop = entries.filter(({ after }) => (after as Json).stop !== undefined);
      expect(byStop).toHaveLength(2 + released.length + stopped.length);
    }
  });
});
