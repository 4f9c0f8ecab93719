// Tests what becomes of ids that many devices share by mistake, and of those that addresses fold away
// (docs/contract.md 19.10 and 19.11), at each place where a device is named. Which texts these are is tested
// in test/domain/fleet/mistaken-id.test.ts.

import { describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { expectError } from '../support/expect-error.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { createTenant, send, type Tenant } from '../support/tenant.ts';

const MACHINE = { version: '1.0.0', platform: 'linux', arch: 'x86_64' };
const LIMIT = 120;
/** Enough devices for each stream of the queue. */
const LATER = 32;
/** Ids that stand for no device: shared by mistake, and folded away. */
const NAMELESS = ['undefined', '[object Object]', '{{device}}', '.', '..'];

serviceSuite('mistaken ids', (node) => {
  /** Waits until these devices, and nothing else, are on record. */
  const recorded = (tenant: Tenant, ids: readonly string[]) =>
    eventually(`${ids.join(', ')} are on record`, async () => {
      const found = await tenant.deviceIds();
      return found.length === ids.length && ids.every((id) => found.includes(id));
    });

  /** Paths of a tenant's checks that name the device in the query. */
  const queries = ({ app }: Tenant, id: string) => [
    `/u/${app}/stable/linux/x86_64/1.0.0?device=${encodeURIComponent(id)}`,
    `/e/${app}/stable/latest-linux.yml?device=${encodeURIComponent(id)}`,
    `/velopack/${app}/stable/releases.linux.json?localVersion=1.0.0&stagingId=${encodeURIComponent(id)}`,
  ];

  it('a check in the name of one has no id: no cohort, and no record (§19.10)', async () => {
    const tenant = await createTenant(node, ['1.0.0'], ['2.0.0', { rollout: 99 }]);
    for (const id of NAMELESS) {
      expect((await tenant.check('1.0.0', { device: id })).status, id).toBe(204);
      for (const path of queries(tenant, id)) await send(node, 'GET', path);
      const staging = { 'x-user-staging-id': id };
      await send(node, 'GET', `/e/${tenant.app}/stable/latest-linux.yml`, { headers: staging });
      const path = `/u/${tenant.app}/stable/linux/x86_64/1.0.0/failure`;
      const failure = { headers: { 'x-service-device': id }, body: { version: '2.0.0' } };
      expectError(await send(node, 'POST', path, failure), 400, 'device: Required');
    }
    // What came before is on record once later checks are.
    const later = Array.from({ length: LATER }, (_, index) => `later-${index}`);
    for (const device of later) await tenant.check('1.0.0', { device });
    await recorded(tenant, later);
  });

  it('it is limited by the address that it comes from (§19.2)', async () => {
    const tenant = await createTenant(node);
    const ask = (address: string) =>
      send(node, 'GET', `/u/${tenant.app}/stable/linux/x86_64/1.0.0`, {
        headers: { 'x-service-device': 'null', 'x-forwarded-for': address },
      });
    for (let count = 0; count < LIMIT; count++) await ask('192.0.2.7');
    expect((await ask('192.0.2.7')).status).toBe(429);
    expect((await ask('192.0.2.8')).status).toBe(204);
  });

  it('another id of the same request names the device', async () => {
    const tenant = await createTenant(node);
    const path = `/e/${tenant.app}/stable/latest-linux.yml`;
    const headers = { 'x-service-device': 'undefined', 'x-user-staging-id': 'staging-1' };
    await send(node, 'GET', path, { headers });
    await tenant.check('1.0.0', { device: 'NaN', query: 'device=query-1' });
    await recorded(tenant, ['query-1', 'staging-1']);
  });

  describe('in push mode', () => {
    it('a report passes them over, counts them, and records the others (§4.5)', async () => {
      const tenant = await createTenant(node);
      for (const ids of [
        ['kiosk-1', 'undefined', '00000000-0000-0000-0000-000000000000'],
        ['nil'],
      ]) {
        const devices = ids.map((deviceId) => ({
          deviceId,
          ...MACHINE,
          failed: { version: '1.0.0' },
        }));
        const answer = await tenant.report(devices);
        expect(answer.body).toEqual({ app: tenant.app, received: ids.length });
      }
      expect(await tenant.deviceIds()).toEqual(['kiosk-1']);
    });

    it('a wave decides for them in their place, without an id, and records the others (§4.6)', async () => {
      const tenant = await createTenant(node, ['2.0.0', { rollout: 99 }]);
      const named = ['null', 'kiosk-1', 'null'].map((deviceId) => ({ deviceId, ...MACHINE }));
      const answer = await tenant.decisions(named);
      const planned = answer.body?.decisions as { deviceId: string; update: unknown }[];
      expect(planned.map(({ deviceId }) => deviceId)).toEqual(['null', 'kiosk-1', 'null']);
      expect([planned[0]?.update, planned[2]?.update]).toEqual([null, null]);
      expect(await tenant.deviceIds()).toEqual(['kiosk-1']);
    });

    it.each(['.', '..'])('%j is 400 with its path (§19.11)', async (id) => {
      const tenant = await createTenant(node);
      const devices = [
        { deviceId: 'kiosk-1', ...MACHINE },
        { deviceId: id, ...MACHINE },
      ];
      const message = 'devices.1.deviceId: Must not be . or .., which addresses fold away';
      expectError(await tenant.report(devices), 400, message);
      expectError(await tenant.decisions(devices), 400, message);
      expect(await tenant.deviceIds()).toEqual([]);
    });
  });
});
