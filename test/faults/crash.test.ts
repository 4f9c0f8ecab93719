// Tests that everything the service answered is still there after a crash (docs/operating.md, What happens
// when).

import { randomUUID } from 'node:crypto';
import { afterAll, expect, it } from 'vitest';
import { describeOnBackends } from '../support/backend.ts';
import type { ServingNode } from '../support/node.ts';
import {
  admin,
  check,
  control,
  createTenant,
  manage,
  publish,
  type Tenant,
} from '../support/tenant.ts';

const TEST_TIMEOUT_MS = 90_000;

describeOnBackends('crash', (backend) => {
  let node: ServingNode;
  afterAll(() => node?.dispose());

  it(
    'after kill -9 and a restart all that was answered is there, also what was offered (Set-up, Offered)',
    async () => {
      node = await backend.start();
      const tenants = await Promise.all(Array.from({ length: 3 }, () => createTenant(node)));
      for (const tenant of tenants) {
        expect((await publish(node, tenant, '1.0.0')).status).toBe(201);
        expect(
          (await publish(node, tenant, '1.1.0', { rollout: 50, notes: 'Größer 🚀' })).status,
        ).toBe(201);
        expect(
          (await publish(node, tenant, '1.2.0', { rollout: 50, status: 'paused' })).status,
        ).toBe(201);
        expect((await control(node, tenant, '1.0.0', { status: 'rolled_back' })).status).toBe(200);
        expect(
          (
            await admin(node, 'PATCH', 'channels', {
              app: tenant.app,
              name: 'beta',
              defaultRollout: 5,
            })
          ).status,
        ).toBe(200);
      }
      const before = await Promise.all(tenants.map((tenant) => recorded(node, tenant)));
      // The first offers are the last work of the node before its kill.
      const device = await Promise.all(tenants.map((tenant) => firstOffered(node, tenant)));
      await node.kill();
      node = await node.restart();
      expect(await Promise.all(tenants.map((tenant) => recorded(node, tenant)))).toEqual(before);
      for (const [index, tenant] of tenants.entries()) {
        const again = await check(node, tenant, '0.9.0', { device: device[index] ?? '' });
        expect(again.body).toMatchObject({ version: '1.1.0', notes: 'Größer 🚀' });
        const lowered = await control(node, tenant, '1.1.0', { rollout: 49 });
        expect([lowered.status, lowered.body?.error]).toEqual([
          422,
          expect.stringContaining('50%'),
        ]);
        // 1.2.0 was never offered, so its rollout may still be lowered.
        expect((await control(node, tenant, '1.2.0', { rollout: 10 })).status).toBe(200);
        expect((await control(node, tenant, '1.0.0', { status: 'published' })).status).toBe(409);
      }
    },
    TEST_TIMEOUT_MS,
  );

  /** Returns the answers of the management and console API about a tenant. */
  async function recorded(from: ServingNode, tenant: Tenant): Promise<unknown[]> {
    const answers = await Promise.all([
      manage(from, tenant, 'GET', 'apps'),
      manage(from, tenant, 'GET', 'releases?per_page=100'),
      admin(from, 'GET', `audit?org=${tenant.org}&limit=1000`),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    return answers.map(({ body }) => body);
  }

  /** Asks as one device after another until one is in the cohort; returns its id. */
  async function firstOffered(from: ServingNode, tenant: Tenant): Promise<string> {
    for (;;) {
      const device = randomUUID();
      if ((await check(from, tenant, '0.9.0', { device })).status === 200) return device;
    }
  }
});
