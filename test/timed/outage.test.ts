// Measures checks while both stores hang (docs/operating/losses.md): only the first ones may wait
// for a store, and none for long.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnRealStores } from '../support/backend.ts';
import { type Cluster, type ClusterNode, startCluster } from '../support/cluster.ts';
import { eventually } from '../support/eventually.ts';
import { check, createTenant, publish, type Tenant } from '../support/tenant.ts';

/** Longest time of a check: the first that meets a release never offered waits for its record. */
const CHECK_MS_MAX = 3000;

describeOnRealStores('both stores hang', () => {
  let cluster: Cluster;
  let node: ClusterNode;
  let tenant: Tenant;
  beforeAll(async () => {
    cluster = await startCluster();
    node = await cluster.addNode();
    tenant = await createTenant(node);
    await publish(node, tenant, '1.0.0');
    await untilOffered('1.0.0');
  });
  afterAll(() => cluster?.dispose());

  function untilOffered(version: string): Promise<void> {
    return eventually(`${version} is offered`, async () => {
      return (await check(node, tenant, '0.9.0')).body?.version === version;
    });
  }

  it('no check waits for longer than 3 s, and most for nothing', async () => {
    await publish(node, tenant, '1.1.0');
    cluster.postgres.pause();
    cluster.redis.pause();
    const times: number[] = [];
    for (let round = 0; round < 50; round++) {
      const start = performance.now();
      expect((await check(node, tenant, '0.9.0')).body?.version).toBe('1.0.0');
      times.push(performance.now() - start);
    }
    const asked = performance.now();
    expect((await publish(node, tenant, '1.2.0')).status).toBe(503);
    const refusedMs = performance.now() - asked;
    cluster.postgres.resume();
    cluster.redis.resume();
    const back = performance.now();
    await untilOffered('1.1.0');
    times.sort((one, other) => one - other);
    console.log(
      `both stores hang: checks after ${ms(times[25])} (median), ${ms(times.at(-1))} (longest); a publish ` +
        `refused after ${ms(refusedMs)}; a first offer ${ms(performance.now() - back)} after their return`,
    );
    expect(times.at(-1)).toBeLessThan(CHECK_MS_MAX);
  });
});

function ms(value: number | undefined): string {
  return `${Math.round(value ?? Number.NaN)} ms`;
}
