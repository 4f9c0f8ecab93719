// Tests what a key can read beside the list of releases: the apps, a release, the channels of an app, a
// device (docs/contract.md 4.4 and 4.17 to 4.19).

import { describe, expect, it } from 'vitest';
import { DDI_DEFAULTS } from '../../src/contract/resource.ts';
import { expectError } from '../support/expect-error.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { admin, createTenant, releaseOf } from '../support/tenant.ts';

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

serviceSuite('reading with a key', (node) => {
  it("GET /api/v1/apps has every app of the key's organization with its channels (§4.4)", async () => {
    const tenant = await createTenant(node);
    const other = `a-${tenant.app}`;
    const made = { org: tenant.org, ref: other, name: 'Another', channels: ['only'] };
    const { body: added } = await admin(node, 'POST', 'apps', made);
    for (const query of ['', '?page=2&per_page=0', '?org=other', '?app=%00%ff']) {
      const { status, headers, body } = await tenant.manage('GET', `apps${query}`);
      expect([status, headers.get('content-type')]).toEqual([200, 'application/json']);
      const own = { id: tenant.appId, ref: tenant.app, name: 'Test app' };
      expect(body).toStrictEqual({
        apps: [
          { id: added?.id, ref: other, name: 'Another', channels: ['only'] },
          { ...own, channels: ['beta', 'stable'] },
        ],
      });
    }
  });

  describe('GET /api/v1/releases/{id}', () => {
    it('answers the release with its targeting, its first offer and its devices (§4.17)', async () => {
      const tenant = await createTenant(node);
      const targets = { matchLabels: { ring: ['a'] }, matchExpressions: [] };
      const release = releaseOf(await tenant.publish('v1.2', { targets }));
      const path = `releases/${release.id}`;
      const fresh = await tenant.manage('GET', path);
      const nowhere = { on: [], supersededBy: null, wayDownFor: [], change: null };
      const standing = { state: 'serving', ...nowhere };
      expect([fresh.status, fresh.body]).toStrictEqual([
        200,
        { release, targets, offered: false, offeredAt: null, devices: 0, standing },
      ]);
      await tenant.check('1.0.0', { device: 'a', query: 'l.ring=a' });
      const device = { version: '1.2.0', platform: 'linux', channel: 'stable' };
      await tenant.report([
        { ...device, deviceId: 'b' },
        { ...device, deviceId: 'c' },
        { ...device, deviceId: 'd', channel: 'beta' },
      ]);
      await tenant.control('1.2.0', { status: 'paused' });
      expect((await tenant.manage('GET', path)).body).toStrictEqual({
        release: { ...release, status: 'paused' },
        targets,
        offered: true,
        offeredAt: expect.stringMatching(TIMESTAMP),
        devices: 2,
        standing: {
          ...{ ...standing, state: 'paused' },
          change: { at: expect.any(String), by: expect.stringMatching(/^key:/), reason: null },
        },
      });
    });

    it('is 404 for an unknown id', async () => {
      const tenant = await createTenant(node);
      for (const id of ['rel_0', 'promote', '%00']) {
        expectError(await tenant.manage('GET', `releases/${id}`), 404, 'Unknown release');
      }
    });
  });

  it('GET /api/v1/channels lists the channels of an app by name, with their settings (§4.18)', async () => {
    const tenant = await createTenant(node);
    const settings = {
      minimumSupportedVersion: '1.0.0',
      ...{ defaultRollout: 20, updateMode: 'recommended', requireSignature: true, follows: null },
      ...{ approvals: 'none', approvalDays: 7, ddi: { ...DDI_DEFAULTS, askDays: 0 } },
    };
    await admin(node, 'PATCH', 'apps', { app: tenant.app, ddiAuth: 'open' });
    await tenant.setChannel(settings);
    const usual = {
      minimumSupportedVersion: null,
      ...{ defaultRollout: 100, updateMode: 'optional', requireSignature: false, follows: null },
      ...{ approvals: 'none', approvalDays: 7, ddi: null },
    };
    for (const app of [tenant.app, tenant.appId]) {
      const answer = await tenant.manage('GET', `channels?app=${app}`);
      const channels = [
        { name: 'beta', ...usual },
        { name: 'stable', ...settings },
      ];
      expect([answer.status, answer.body]).toStrictEqual([200, { channels }]);
    }
  });

  it('GET /api/v1/devices/{deviceId} answers a device as the list of devices has it (§4.19)', async () => {
    const tenant = await createTenant(node);
    const deviceId = 'kiosk 1/ä';
    const told = { deviceId, version: '1.2.0', platform: 'linux', labels: { ring: 'a' } };
    await tenant.report([told]);
    const path = (id: string) => `devices/${encodeURIComponent(id)}?app=${tenant.app}`;
    const answer = await tenant.manage('GET', path(deviceId));
    const [device] = await tenant.devices();
    expect(device?.deviceId).toBe(deviceId);
    const actions = { action: null, barred: [] };
    expect([answer.status, answer.body]).toStrictEqual([
      200,
      { device: { ...device, ...actions } },
    ]);
    expectError(await tenant.manage('GET', path('nobody')), 404, 'Unknown device');
    for (const nameless of ['channels', 'devices/a']) {
      expectError(await tenant.manage('GET', nameless), 400, 'app: Required');
    }
  });
});
