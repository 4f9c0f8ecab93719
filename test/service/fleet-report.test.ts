// Tests the reports of an orchestrator about its devices (docs/contract.md 2.6, 4.5 and 17): sent over HTTP
// to a running node, and seen where operators see them, in the console's device list.

import { describe, expect, it } from 'vitest';
import { expectError } from '../support/expect-error.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { createTenant, type Json, randomId, type Tenant } from '../support/tenant.ts';

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const DEVICE = { deviceId: 'd', version: '1.0.0', platform: 'linux' } as const;
/** Character of two UTF-16 units and four bytes. */
const ROCKET = '🚀';

serviceSuite('fleet report', (node) => {
  /** Reports devices and expects that they are accepted. */
  async function accept(tenant: Tenant, ...devices: Json[]): Promise<void> {
    const answer = await tenant.report(devices);
    expect(answer.text).toBe(JSON.stringify({ app: tenant.app, received: devices.length }));
    expect(answer.status).toBe(200);
  }

  /** The one device of the app. */
  async function only(tenant: Tenant): Promise<Json> {
    const devices = await tenant.devices();
    expect(devices).toHaveLength(1);
    return devices[0] ?? {};
  }

  describe('what is stored', () => {
    it('is answered 200 with the app ref and how many were received, by ref and by id (§4.5)', async () => {
      const tenant = await createTenant(node);
      for (const app of [tenant.app, tenant.appId]) {
        const answer = await tenant.report([DEVICE, { ...DEVICE, deviceId: 'e' }], { app });
        expect(answer.status).toBe(200);
        expect(answer.headers.get('content-type')).toBe('application/json');
        expect(answer.body).toStrictEqual({ app: tenant.app, received: 2 });
      }
      expect(await tenant.deviceIds()).toEqual(['d', 'e']);
    });

    it('is in the device list at once, with every field, as source push (§4.5, §17.1)', async () => {
      const tenant = await createTenant(node);
      const before = Date.now();
      const labels = { ring: 'inner' };
      await accept(tenant, { ...DEVICE, arch: 'aarch64', channel: 'beta', labels });
      const device = await only(tenant);
      expect(device).toStrictEqual({
        deviceId: 'd',
        version: '1.0.0',
        platform: 'linux',
        arch: 'aarch64',
        channel: 'beta',
        labels: { ring: 'inner' },
        source: 'push',
        client: 'push',
        bundle: null,
        firstSeen: expect.stringMatching(TIMESTAMP),
        lastSeen: expect.stringMatching(TIMESTAMP),
        lastOffered: null,
      });
      expect(device.firstSeen).toBe(device.lastSeen);
      // The ledger's clock, which a node knows to within a round trip.
      expect(Math.abs(Date.parse(String(device.lastSeen)) - before)).toBeLessThan(60_000);
    });

    it('has channel, arch and labels as they were left out or given, equal versions as one (§2.6, §10.6, §17.3)', async () => {
      const tenant = await createTenant(node);
      await accept(tenant, DEVICE);
      expect(await only(tenant)).toMatchObject({ channel: 'stable', arch: null, labels: {} });
      const version = 'V1-rc.01';
      for (const channel of ['no such channel', 'Größe/🚀']) {
        await accept(tenant, { ...DEVICE, channel, version });
        expect(await only(tenant)).toMatchObject({ channel, version: '1.0.0-rc.1' });
      }
    });

    it('of a device named twice is the last item, its labels merged in order (§17.2)', async () => {
      const tenant = await createTenant(node);
      await accept(
        tenant,
        { ...DEVICE, version: '3.0.0', labels: { a: '1', b: '1' }, channel: 'beta' },
        { ...DEVICE, deviceId: 'other', labels: { a: 'x' } },
        { ...DEVICE, version: '2.0.0', labels: { b: '2', c: '2' }, arch: 'x86_64' },
        { ...DEVICE, version: '1.0.0' },
      );
      const [device, other] = await tenant.devices();
      expect(device).toMatchObject({ version: '1.0.0', channel: 'stable', arch: null });
      expect(device?.labels).toEqual({ a: '1', b: '2', c: '2' });
      expect(other?.labels).toEqual({ a: 'x' });
    });
  });

  it('labels merge over the stored ones, key by key; a report without any clears none (§17.4)', async () => {
    const tenant = await createTenant(node);
    for (const labels of [{ a: '1', b: '1' }, {}, { b: '2', ['__proto__']: 'x' }, { a: '' }]) {
      await accept(tenant, { ...DEVICE, labels });
    }
    await accept(tenant, DEVICE);
    expect((await only(tenant)).labels).toEqual({ a: '', b: '2', ['__proto__']: 'x' });
  });

  describe('what is refused', () => {
    it('a report that keeps every limit is taken, although it is larger than other bodies may be (§4.5, §8)', async () => {
      const tenant = await createTenant(node);
      const keys = Array.from({ length: 16 }, (_, index) => `k${index}`.padEnd(128, 'x'));
      const labels = Object.fromEntries(keys.map((key) => [key, ROCKET.repeat(256)]));
      const devices = Array.from({ length: 500 }, (_, index) => ({
        ...DEVICE,
        deviceId: `${index}`.padEnd(128, 'd'),
        labels,
      }));
      await accept(tenant, ...devices);
      const listed = await tenant.devices();
      expect(new Set(listed.map(({ deviceId }) => deviceId)).size).toBe(500);
    });

    it('a body that cannot be is 400 with the path of the field, and leaves no trace (§4.5, §7.1)', async () => {
      const tenant = await createTenant(node);
      const wrong = [DEVICE, { ...DEVICE, deviceId: 'e', version: 'x' }];
      for (const [body, error] of [
        ['{"devices":[]', 'Invalid JSON body'],
        ['[]', 'body: Expected an object'],
        [{ app: tenant.app, devices: wrong }, 'devices.1.version: Invalid version'],
      ] as const) {
        const answer = await tenant.manage('POST', 'fleet/report', body);
        expect([answer.status, answer.body]).toEqual([400, { error }]);
      }
      expect(await tenant.devices()).toEqual([]);
    });

    it('401 comes before 400, that before 404 (§4.5, §11.7)', async () => {
      const tenant = await createTenant(node);
      const unknown = { app: `no-${randomId()}` };
      const wrongKey = tenant.with({ secret: `${tenant.secret}x` });
      expect((await wrongKey.report([], unknown)).status).toBe(401);
      expect((await tenant.report([], unknown)).status).toBe(400);
      expectError(await tenant.report([DEVICE], unknown), 404, 'Unknown app');
    });
  });
});
