// Tests failures that devices report to an edge while its upstream is away (docs/contract.md 29.5).

import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnOneBackend } from '../support/backend.ts';
import { startEdgeOnAWay } from '../support/edge-arrival.ts';
import { eventually, sleep } from '../support/eventually.ts';
import type { ServingNode } from '../support/node.ts';
import type { Proxy as NetworkProxy } from '../support/tcp-proxy.ts';
import { check, createTenant, manage, publish, report, send } from '../support/tenant.ts';

/** Time in which the service records what an edge has kept for it. */
const RECORDED_MS_MAX = 20_000;
/** Longest time from an answer to what it says being on the disk of the edge. */
const SYNCED_MS = 500;

describeOnOneBackend('failures that devices report to an edge', (backend) => {
  let upstream: ServingNode;
  let way: NetworkProxy;
  let edge: ServingNode;
  beforeAll(async () => {
    upstream = await backend.start({ SECRET_KEY: 'a key of the tests' });
    ({ edge, way } = await startEdgeOnAWay(upstream));
  });
  afterAll(async () => {
    await edge?.dispose();
    await way?.close();
    await upstream?.dispose();
  });

  it('count after its return, through a kill of the edge, once for each device', async () => {
    const tenant = await createTenant(upstream);
    const ids = ['a', 'b', 'c'];
    await report(
      upstream,
      tenant,
      ids.map((deviceId) => ({ deviceId, version: '0.9.0', platform: 'linux' })),
    );
    await publish(upstream, tenant, '1.0.0');
    await eventually('the edge offers the release', async () => {
      return (await check(edge, tenant, '0.9.0', { device: 'a' })).status === 200;
    });
    way.blackhole();
    way.cut();
    const path = `/u/${tenant.app}/stable/linux/x86_64/0.9.0/failure`;
    for (const device of [...ids, ...ids]) {
      expect((await check(edge, tenant, '0.9.0', { device })).status).toBe(200);
      const headers = { 'x-service-device': device };
      const body = { version: '1.0.0', reason: 'disk full' };
      expect((await send(edge, 'POST', path, { headers, body })).status).toBe(204);
    }
    await sleep(SYNCED_MS);
    await edge.kill();
    edge = await edge.restart();
    way.heal();
    const query = new URLSearchParams({
      ...{ app: tenant.app, channel: 'stable', version: '1.0.0', knownForMinutes: '0' },
    });
    const failed = async () => {
      const { body } = await manage(upstream, tenant, 'GET', `releases/health?${query}`);
      return (body as { health: { failed: number } }).health.failed;
    };
    await eventually(
      'each device has failed',
      async () => (await failed()) === ids.length,
      RECORDED_MS_MAX,
    );
  });
});
