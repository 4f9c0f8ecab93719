// Measures how soon an edge serves a change (docs/contract.md 29.6): normally, when the connection is cut
// meanwhile, and after a silence.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnBackends } from '../support/backend.ts';
import { arrives, type EdgeOnAWay, offeredBy, startEdgeOnAWay } from '../support/edge-arrival.ts';
import { eventually } from '../support/eventually.ts';
import { metricsOf } from '../support/metrics.ts';
import type { ServingNode } from '../support/node.ts';
import { control, createTenant, publish, type Tenant } from '../support/tenant.ts';
import { startWildServer } from '../support/wild-server.ts';

/** Promises of contract 29.6. */
const ARRIVES_MS_MAX = 2000;
const ARRIVES_AFTER_CUT_MS_MAX = 5000;
const ROUNDS = 3;

describeOnBackends('changes on an edge', (backend) => {
  let upstream: ServingNode;
  let edge: ServingNode;
  let way: EdgeOnAWay['way'];
  let tenant: Tenant;
  beforeAll(async () => {
    upstream = await backend.start({ SECRET_KEY: 'a key of the tests' });
    ({ edge, way } = await startEdgeOnAWay(upstream));
    tenant = await createTenant(upstream);
    await publish(upstream, tenant, '1.0.0');
    await arrives(edge, tenant, '1.0.0');
  });
  afterAll(async () => {
    await edge?.dispose();
    await way?.close();
    await upstream?.dispose();
  });

  it('a pause is served within 2 s, and a return (§29.6)', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      await control(upstream, tenant, '1.0.0', { status: 'paused' });
      await arrives(edge, tenant, null, ARRIVES_MS_MAX);
      await control(upstream, tenant, '1.0.0', { status: 'published' });
      await arrives(edge, tenant, '1.0.0', ARRIVES_MS_MAX);
    }
  });

  it('a pause is served within 5 s when the connection is cut meanwhile (§29.6)', async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const paused = control(upstream, tenant, '1.0.0', { status: 'paused' });
      way.cut();
      await paused;
      await arrives(edge, tenant, null, ARRIVES_AFTER_CUT_MS_MAX);
      await control(upstream, tenant, '1.0.0', { status: 'published' });
      await arrives(edge, tenant, '1.0.0', ARRIVES_MS_MAX);
    }
  });

  it('it is right within 2 s after a silence (§29.6)', async () => {
    way.blackhole();
    await control(upstream, tenant, '1.0.0', { status: 'paused' });
    await eventually('the edge knows that it is cut off', async () => {
      return (await metricsOf(edge)).includes('sluice_store_up{store="upstream"} 0');
    });
    expect(await offeredBy(edge, tenant)).toBe('1.0.0');
    way.heal();
    await arrives(edge, tenant, null, ARRIVES_MS_MAX);
    await control(upstream, tenant, '1.0.0', { status: 'published' });
    await arrives(edge, tenant, '1.0.0');
  });

  it.each([
    '101 Switching Protocols',
    '103 without end',
    'half a body',
    'a head byte by byte',
    'nothing',
  ] as const)('it is right within 5 s after its address led to %s (§29.11)', async (wildness) => {
    const wild = await startWildServer(() => wildness);
    way.moveTo(wild.port);
    await control(upstream, tenant, '1.0.0', { status: 'paused' });
    await eventually('the edge knows that it is cut off', async () => {
      return (await metricsOf(edge)).includes('sluice_store_up{store="upstream"} 0');
    });
    way.moveTo(Number(new URL(upstream.url).port));
    await arrives(edge, tenant, null, ARRIVES_AFTER_CUT_MS_MAX);
    await control(upstream, tenant, '1.0.0', { status: 'published' });
    await arrives(edge, tenant, '1.0.0', ARRIVES_AFTER_CUT_MS_MAX);
    await wild.stop();
  });
});
