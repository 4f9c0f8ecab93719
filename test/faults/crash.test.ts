// Tests that everything the service answered is still there after a kill -9 (docs/operating/losses.md): what
// publishers were told, what was offered, what orchestrators reported and planned, and labels.

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnBackends } from '../support/backend.ts';
import { asks, expectLabels, OLD, withTargeted } from '../support/device-labels.ts';
import { eventually } from '../support/eventually.ts';
import type { ServingNode } from '../support/node.ts';
import { admin, createTenant, type Tenant } from '../support/tenant.ts';

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const DEVICE = { version: '1.0.0', platform: 'linux', arch: 'x86_64' } as const;
const REPORTED = { ...DEVICE, deviceId: 'reported', labels: { ring: 'inner' } };
const PLANNED = { ...DEVICE, deviceId: 'planned' };

describeOnBackends('crash', (backend) => {
  let node: ServingNode;
  beforeAll(async () => {
    node = await backend.start();
  });
  afterAll(() => node?.dispose());

  it('after kill -9 and a restart all that was answered is there (Set-up, Offered, §4.7.4, §14.2, §17.6)', async () => {
    const tenants = await Promise.all(Array.from({ length: 3 }, () => createTenant(node)));
    for (const tenant of tenants) await furnish(tenant);
    const labelled = await withTargeted(node);
    // A first offer that takes long is 503, and is repeated.
    await eventually('the release is offered', async () => {
      return (await labelled.at(node).check(OLD, { query: 'l.ring=inner' })).status === 200;
    });
    const fleet = await createTenant(node);
    expect((await fleet.at(node).publish('2.0.0')).status).toBe(201);
    const before = await Promise.all(tenants.map((tenant) => recorded(node, tenant)));
    // Labels, first offers, a planned wave and a report are the last work of the node before its kill.
    const [, devices] = await Promise.all([
      asks(labelled.at(node), { device: 'd', query: 'l.ring=inner' }).then((is) =>
        expect(is).toBe(true),
      ),
      Promise.all(tenants.map((tenant) => firstOffered(tenant.at(node)))),
      fleet
        .at(node)
        .decisions([PLANNED])
        .then(({ body }) => expect(body?.updatesOffered).toBe(1)),
      fleet
        .at(node)
        .report([REPORTED])
        .then(({ status }) => expect(status).toBe(200)),
    ]);
    await node.kill();
    node = await node.restart();

    expect(await Promise.all(tenants.map((tenant) => recorded(node, tenant)))).toEqual(before);
    for (const [index, tenant] of tenants.entries()) {
      const again = await tenant.at(node).check('0.9.0', { device: devices[index] ?? '' });
      expect(again.body).toMatchObject({ version: '1.1.0', notes: 'Größer 🚀' });
      const lowered = await tenant.at(node).control('1.1.0', { rollout: 49 });
      const error = expect.stringContaining('50%');
      expect([lowered.status, lowered.body?.error]).toEqual([422, error]);
      // 1.2.0 was never offered, so its rollout may still be lowered.
      expect((await tenant.at(node).control('1.2.0', { rollout: 10 })).status).toBe(200);
      expect((await tenant.at(node).control('1.0.0', { status: 'published' })).status).toBe(409);
    }
    const lastOffered = { version: '2.0.0', at: expect.stringMatching(TIMESTAMP) };
    expect(await fleet.at(node).devices()).toEqual([
      expect.objectContaining({ ...PLANNED, source: 'push', lastOffered }),
      expect.objectContaining(REPORTED),
    ]);
    // Offered: its rollout cannot be lowered any more.
    expect((await fleet.at(node).control('2.0.0', { rollout: 0 })).status).toBe(422);
    expect(await asks(labelled.at(node), { device: 'd' })).toBe(true);
    await expectLabels(labelled.at(node), { ring: 'inner' });
  });

  async function furnish(tenant: Tenant): Promise<void> {
    const wide = { rollout: 50, notes: 'Größer 🚀' };
    const channel = { app: tenant.app, name: 'beta', defaultRollout: 5 };
    const answers = [
      await tenant.at(node).publish('1.0.0'),
      await tenant.at(node).publish('1.1.0', wide),
      await tenant.at(node).publish('1.2.0', { rollout: 50, status: 'paused' }),
      await tenant.at(node).control('1.0.0', { status: 'rolled_back' }),
      await admin(node, 'PATCH', 'channels', channel),
    ];
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 200, 200]);
  }

  /** Returns the answers of the management and console API about a tenant. */
  async function recorded(from: ServingNode, tenant: Tenant): Promise<unknown[]> {
    const answers = await Promise.all([
      tenant.at(from).manage('GET', 'apps'),
      tenant.at(from).manage('GET', 'releases?per_page=100'),
      admin(from, 'GET', `audit?org=${tenant.org}&limit=1000`),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    return answers.map(({ body }) => body);
  }

  /** Asks as one device after another until one is in the cohort; returns its id. */
  async function firstOffered(tenant: Tenant): Promise<string> {
    for (;;) {
      const device = randomUUID();
      if ((await tenant.check('0.9.0', { device })).status === 200) return device;
    }
  }
});
