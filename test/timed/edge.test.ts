// Measures how soon an edge serves a change (docs/contract.md 29.6): normally, when the connection is cut
// meanwhile, and after a silence, also one in which something else answered at its address.

import { beforeAll, expect, it } from 'vitest';
import { describeOnBackends, suiteNode } from '../support/backend.ts';
import {
  arrives,
  type EdgeOnAWay,
  offeredBy,
  portOf,
  startEdgeOnAWay,
} from '../support/edge-node.ts';
import { eventually } from '../support/eventually.ts';
import { metricsOf } from '../support/metrics.ts';
import type { ServingNode } from '../support/node.ts';
import { endWithSuite } from '../support/own.ts';
import { createTenant, type Tenant } from '../support/tenant.ts';
import { startWildServer } from '../support/wild-server.ts';

/** Promises of contract 29.6. */
const ARRIVES_MS_MAX = 2000;
const ARRIVES_AFTER_CUT_MS_MAX = 5000;
const ROUNDS = 3;

describeOnBackends('changes on an edge', (backend) => {
  const upstream = suiteNode(() => backend.start({ SECRET_KEY: 'a key of the tests' }));
  let edge: ServingNode;
  let way: EdgeOnAWay['way'];
  let tenant: Tenant;
  beforeAll(async () => {
    ({ edge, way } = await startEdgeOnAWay(upstream));
    tenant = await createTenant(upstream, ['1.0.0']);
    await arrives(edge, tenant, '1.0.0');
  });
  endWithSuite(() => [edge, way]);

  const control100 = (status: 'paused' | 'published') => tenant.control('1.0.0', { status });

  /** Pauses the release while the edge is cut off, which it then knows. */
  async function pauseUnheard(): Promise<void> {
    await control100('paused');
    await eventually('the edge knows that it is cut off', async () => {
      return (await metricsOf(edge)).includes('sluice_store_up{store="upstream"} 0');
    });
    expect(await offeredBy(edge, tenant)).toBe('1.0.0');
  }

  it.each([
    ['a pause is served within 2 s, and a return', false, ARRIVES_MS_MAX],
    [
      'a pause is served within 5 s when the connection is cut meanwhile',
      true,
      ARRIVES_AFTER_CUT_MS_MAX,
    ],
  ])('%s (§29.6)', async (_, isCut, msMax) => {
    for (let round = 0; round < ROUNDS; round++) {
      const paused = control100('paused');
      if (isCut) way.cut();
      await paused;
      await arrives(edge, tenant, null, msMax);
      await control100('published');
      await arrives(edge, tenant, '1.0.0', ARRIVES_MS_MAX);
    }
  });

  it('it is right within 2 s after a silence (§29.6)', async () => {
    way.blackhole();
    await pauseUnheard();
    way.heal();
    await arrives(edge, tenant, null, ARRIVES_MS_MAX);
    await control100('published');
    await arrives(edge, tenant, '1.0.0');
  });

  // What else may answer is in test/flow; each ends a call in one of these ways, at once or by its time.
  it.each(['half a body', 'a head byte by byte'] as const)(
    'it is right within 5 s after its address led to %s (§29.11)',
    async (wildness) => {
      const wild = await startWildServer(() => wildness);
      way.moveTo(wild.port);
      await pauseUnheard();
      way.moveTo(portOf(upstream));
      await arrives(edge, tenant, null, ARRIVES_AFTER_CUT_MS_MAX);
      await control100('published');
      await arrives(edge, tenant, '1.0.0', ARRIVES_AFTER_CUT_MS_MAX);
      await wild.stop();
    },
  );
});
