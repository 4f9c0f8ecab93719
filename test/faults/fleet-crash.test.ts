// Tests that what an orchestrator reported or planned is still there after a crash (docs/contract.md 14.2 and
// 17.6).

import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnBackends } from '../support/backend.ts';
import type { ServingNode } from '../support/node.ts';
import { control, createTenant, decisions, devicesOf, publish, report } from '../support/tenant.ts';

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const DEVICE = { deviceId: 'd', version: '1.0.0', platform: 'linux', arch: 'x86_64' } as const;

describeOnBackends('the fleet', (backend) => {
  let node: ServingNode;
  beforeAll(async () => {
    node = await backend.start();
  });
  afterAll(() => node?.dispose());

  it('a report survives a kill -9 right after the answer (§17.6)', async () => {
    const tenant = await createTenant(node);
    const device = { ...DEVICE, labels: { ring: 'inner' } };
    expect((await report(node, tenant, [device])).status).toBe(200);
    await node.kill();
    node = await node.restart();
    expect(await devicesOf(node, tenant)).toEqual([expect.objectContaining(device)]);
  });

  it('a planned wave survives a kill -9 right after the answer (§17.6, §14.2)', async () => {
    const tenant = await createTenant(node);
    expect((await publish(node, tenant, '2.0.0')).status).toBe(201);
    expect((await decisions(node, tenant, [DEVICE])).body?.updatesOffered).toBe(1);
    await node.kill();
    node = await node.restart();
    expect(await devicesOf(node, tenant)).toEqual([
      expect.objectContaining({
        ...DEVICE,
        source: 'push',
        lastOffered: { version: '2.0.0', at: expect.stringMatching(TIMESTAMP) },
      }),
    ]);
    // Offered: its rollout cannot be lowered any more.
    expect((await control(node, tenant, '2.0.0', { rollout: 0 })).status).toBe(422);
  });
});
