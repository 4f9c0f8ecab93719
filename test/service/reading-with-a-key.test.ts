// Tests what a key can read one by one: a release, the channels of an app, a device (docs/contract.md 4.2 and
// 4.17 to 4.19).

import { describe, expect, it } from 'vitest';
import { serviceSuite } from '../support/service-suite.ts';
import {
  admin,
  check,
  control,
  createTenant,
  devicesOf,
  manage,
  publish,
  report,
  send,
} from '../support/tenant.ts';

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

type Json = Record<string, unknown>;

serviceSuite('reading with a key', (node) => {
  describe('GET /api/v1/releases/{id}', () => {
    it('answers the release with its targeting, its first offer and its devices (§4.17)', async () => {
      const tenant = await createTenant(node);
      const targets = { matchLabels: { ring: ['a'] }, matchExpressions: [] };
      const { body } = await publish(node, tenant, 'v1.2', { targets });
      const release = body?.release as Json;
      const path = `releases/${release.id}`;
      const fresh = await manage(node, tenant, 'GET', path);
      expect([fresh.status, fresh.body]).toStrictEqual([
        200,
        { release, targets, offered: false, offeredAt: null, devices: 0 },
      ]);
      await check(node, tenant, '1.0.0', { device: 'a', query: 'l.ring=a' });
      const device = { version: '1.2.0', platform: 'linux', channel: 'stable' };
      await report(node, tenant, [
        { ...device, deviceId: 'b' },
        { ...device, deviceId: 'c' },
        { ...device, deviceId: 'd', channel: 'beta' },
      ]);
      await control(node, tenant, '1.2.0', { status: 'paused' });
      expect((await manage(node, tenant, 'GET', path)).body).toStrictEqual({
        release: { ...release, status: 'paused' },
        targets,
        offered: true,
        offeredAt: expect.stringMatching(TIMESTAMP),
        devices: 2,
      });
    });

    it('is 404 for an unknown id, and for a release of another organization (§12.4)', async () => {
      const [mine, other] = [await createTenant(node), await createTenant(node)];
      const { body } = await publish(node, other, '1.0.0');
      const release = body?.release as Json;
      for (const each of [release.id, 'rel_0', 'promote', '%00']) {
        const answer = await manage(node, mine, 'GET', `releases/${each}`);
        expect([answer.status, answer.body]).toEqual([404, { error: 'Unknown release' }]);
      }
    });
  });

  describe('GET /api/v1/releases', () => {
    it('takes a version in any spelling and a status; an unknown one gives an empty list (§12.1)', async () => {
      const tenant = await createTenant(node);
      await publish(node, tenant, 'v1.2');
      await publish(node, tenant, '1.2.0', { channel: 'beta', status: 'paused' });
      await publish(node, tenant, '1.3.0', { status: 'paused' });
      const list = async (query: string) => {
        const { status, body } = await manage(node, tenant, 'GET', `releases?${query}`);
        expect(status).toBe(200);
        const releases = body?.releases as Json[];
        expect(body?.total).toBe(releases.length);
        return releases.map(({ channel, version }) => `${channel}@${version}`);
      };
      expect(await list('version=1.2')).toEqual(['beta@1.2.0', 'stable@v1.2']);
      expect(await list('version=1.2&status=published')).toEqual(['stable@v1.2']);
      expect(await list('status=paused&channel=stable')).toEqual(['stable@1.3.0']);
      expect(await list('status=gone')).toEqual([]);
      expect(await list('version=one')).toEqual([]);
      expect(await list('version=&status=')).toHaveLength(3);
    });
  });

  describe('GET /api/v1/channels', () => {
    it('lists the channels of an app by name, with their settings (§4.18)', async () => {
      const tenant = await createTenant(node);
      await admin(node, 'PATCH', 'channels', {
        app: tenant.app,
        name: 'stable',
        minimumSupportedVersion: '1.0.0',
        defaultRollout: 20,
        updateMode: 'recommended',
        requireSignature: true,
        follows: null,
      });
      for (const app of [tenant.app, tenant.appId]) {
        const answer = await manage(node, tenant, 'GET', `channels?app=${app}`);
        expect([answer.status, answer.body]).toStrictEqual([
          200,
          {
            channels: [
              {
                name: 'beta',
                minimumSupportedVersion: null,
                defaultRollout: 100,
                updateMode: 'optional',
                requireSignature: false,
                follows: null,
              },
              {
                name: 'stable',
                minimumSupportedVersion: '1.0.0',
                defaultRollout: 20,
                updateMode: 'recommended',
                requireSignature: true,
                follows: null,
              },
            ],
          },
        ]);
      }
    });
  });

  describe('GET /api/v1/devices/{deviceId}', () => {
    it('answers the record of a device as the list of devices has it (§4.19)', async () => {
      const tenant = await createTenant(node);
      const deviceId = 'kiosk 1/ä';
      await report(node, tenant, [
        { deviceId, version: '1.2.0', platform: 'linux', labels: { ring: 'a' } },
      ]);
      const path = `devices/${encodeURIComponent(deviceId)}?app=${tenant.app}`;
      const answer = await manage(node, tenant, 'GET', path);
      const [device] = await devicesOf(node, tenant);
      expect(device?.deviceId).toBe(deviceId);
      expect([answer.status, answer.body]).toStrictEqual([200, { device }]);
    });

    it('is 404 for an unknown device', async () => {
      const tenant = await createTenant(node);
      const answer = await manage(node, tenant, 'GET', `devices/nobody?app=${tenant.app}`);
      expect([answer.status, answer.body]).toEqual([404, { error: 'Unknown device' }]);
    });
  });

  describe.each(['channels', 'devices/a'])('GET /api/v1/%s', (path) => {
    it('is 404 for an app of another organization, and for one that does not exist (§5.2)', async () => {
      const [mine, other] = [await createTenant(node), await createTenant(node)];
      await report(node, other, [{ deviceId: 'a', version: '1.0.0', platform: 'linux' }]);
      for (const app of [other.app, other.appId, 'nobody']) {
        const answer = await manage(node, mine, 'GET', `${path}?app=${app}`);
        expect([answer.status, answer.body]).toEqual([404, { error: 'Unknown app' }]);
      }
    });

    it('is 400 without an app, and 401 without a key before that (§11.7)', async () => {
      const tenant = await createTenant(node);
      const answer = await manage(node, tenant, 'GET', path);
      expect([answer.status, answer.body]).toEqual([400, { error: 'app: Required' }]);
      expect((await send(node, 'GET', `/api/v1/${path}`)).status).toBe(401);
    });
  });
});
