// Tests what becomes of ids that many devices share by mistake, and of those that addresses fold away
// (docs/contract.md 19.10 and 19.11), at each place where a device is named. Which texts these are is tested
// in test/domain/fleet/mistaken-id.test.ts.

import { describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { expectError } from '../support/expect-error.ts';
import { tenantWith } from '../support/released.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { runSluiceHere } from '../support/sluice-command.ts';
import {
  ARTIFACT,
  check,
  createTenant,
  decisions,
  devicesOf,
  manage,
  report,
  send,
  type Tenant,
} from '../support/tenant.ts';

const MACHINE = { version: '1.0.0', platform: 'linux', arch: 'x86_64' };
const LIMIT = 120;
/** Enough devices for each stream of the queue. */
const LATER = 32;
/** Ids that stand for no device: shared by mistake, and folded away. */
const NAMELESS = ['undefined', '[object Object]', '{{device}}', '.', '..'];

serviceSuite('mistaken ids', (node) => {
  async function idsOf(tenant: Tenant): Promise<unknown[]> {
    return (await devicesOf(node, tenant)).map(({ deviceId }) => deviceId);
  }

  /** Waits until these devices, and nothing else, are on record. */
  const recorded = (tenant: Tenant, ids: readonly string[]) =>
    eventually(`${ids.join(', ')} are on record`, async () => {
      const found = await idsOf(tenant);
      return found.length === ids.length && ids.every((id) => found.includes(id));
    });

  /** Sends checks of devices of their own, and waits for their record: what came before is there by then. */
  async function recordedSince(tenant: Tenant): Promise<readonly unknown[]> {
    const later = Array.from({ length: LATER }, (_, index) => `later-${index}`);
    for (const device of later) await check(node, tenant, '1.0.0', { device });
    await eventually('the later checks are recorded', async () => {
      const found = await idsOf(tenant);
      return later.every((id) => found.includes(id));
    });
    return (await idsOf(tenant)).filter((id) => !later.includes(String(id)));
  }

  /** Paths of a tenant's checks that name the device in the query. */
  const queries = ({ app }: Tenant, id: string) => [
    `/u/${app}/stable/linux/x86_64/1.0.0?device=${encodeURIComponent(id)}`,
    `/e/${app}/stable/latest-linux.yml?device=${encodeURIComponent(id)}`,
    `/velopack/${app}/stable/releases.linux.json?localVersion=1.0.0&stagingId=${encodeURIComponent(id)}`,
  ];

  it.each(NAMELESS)(
    'a check in the name of %j has no id: no cohort, and no record (§19.10)',
    async (id) => {
      const tenant = await tenantWith(node, ['1.0.0'], ['2.0.0', { rollout: 99 }]);
      const headers = { 'x-service-device': id };
      expect((await check(node, tenant, '1.0.0', { device: id })).status).toBe(204);
      for (const path of queries(tenant, id)) await send(node, 'GET', path);
      const staging = { 'x-user-staging-id': id };
      await send(node, 'GET', `/e/${tenant.app}/stable/latest-linux.yml`, { headers: staging });
      const failure = await send(
        node,
        'POST',
        `/u/${tenant.app}/stable/linux/x86_64/1.0.0/failure`,
        {
          ...{ headers, body: { version: '2.0.0' } },
        },
      );
      expectError(failure, 400, 'device: Required');
      expect(await recordedSince(tenant)).toEqual([]);
    },
  );

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
    await check(node, tenant, '1.0.0', { device: 'NaN', query: 'device=query-1' });
    await recorded(tenant, ['query-1', 'staging-1']);
  });

  describe('in push mode', () => {
    it('a report passes them over, counts them, and records the others (§4.5)', async () => {
      const tenant = await createTenant(node);
      const devices = ['kiosk-1', 'undefined', '00000000-0000-0000-0000-000000000000'];
      const answer = await report(
        ...([node, tenant, devices.map((deviceId) => ({ deviceId, ...MACHINE }))] as const),
      );
      expect(answer.body).toEqual({ app: tenant.app, received: 3 });
      expect(await idsOf(tenant)).toEqual(['kiosk-1']);
    });

    it('a report of nothing else is taken, and records nothing', async () => {
      const tenant = await createTenant(node);
      const failed = { version: '1.0.0' };
      const answer = await report(node, tenant, [{ deviceId: 'nil', ...MACHINE, failed }]);
      expect([answer.status, answer.body?.received]).toEqual([200, 1]);
      expect(await idsOf(tenant)).toEqual([]);
    });

    it('a wave decides for them in their place, without an id, and records the others (§4.6)', async () => {
      const tenant = await tenantWith(node, ['2.0.0', { rollout: 99 }]);
      const named = ['null', 'kiosk-1', 'null'].map((deviceId) => ({ deviceId, ...MACHINE }));
      const answer = await decisions(node, tenant, named);
      const planned = answer.body?.decisions as { deviceId: string; update: unknown }[];
      expect(planned.map(({ deviceId }) => deviceId)).toEqual(['null', 'kiosk-1', 'null']);
      expect([planned[0]?.update, planned[2]?.update]).toEqual([null, null]);
      expect(await idsOf(tenant)).toEqual(['kiosk-1']);
    });

    it.each(['.', '..'])('%j is 400 with its path (§19.11)', async (id) => {
      const tenant = await createTenant(node);
      const devices = [
        { deviceId: 'kiosk-1', ...MACHINE },
        { deviceId: id, ...MACHINE },
      ];
      const message = 'devices.1.deviceId: Must not be . or .., which addresses fold away';
      expectError(await report(node, tenant, devices), 400, message);
      expectError(await decisions(node, tenant, devices), 400, message);
      expect(await idsOf(tenant)).toEqual([]);
    });
  });

  it('an explanation decides for such a device as a check does', async () => {
    const tenant = await tenantWith(node, ['2.0.0', { rollout: 99, artifacts: [ARTIFACT] }]);
    const machine = 'platform=linux&arch=x86_64&version=1.0.0';
    const query = `app=${tenant.app}&channel=stable&deviceId=undefined&${machine}`;
    const { body } = await manage(node, tenant, 'GET', `explain?${query}`);
    expect(body).toMatchObject({
      decision: { update: null, reason: 'outside-cohort' },
      candidates: [{ verdict: 'outside-cohort', bucket: null }],
    });
  });

  it('a device that the query names is erased, also one that an address folds away (§4.23)', async () => {
    const tenant = await createTenant(node);
    await report(node, tenant, [{ deviceId: 'kiosk-1', ...MACHINE }]);
    const erase = (id: string) =>
      manage(node, tenant, 'DELETE', `devices?app=${tenant.app}&deviceId=${id}`);
    expect((await erase('kiosk-1')).status).toBe(204);
    expect(await idsOf(tenant)).toEqual([]);
    for (const id of ['kiosk-1', '.', '..', 'undefined']) {
      expectError(await erase(id), 404, 'Unknown device');
    }
    const missing = await manage(node, tenant, 'DELETE', `devices?app=${tenant.app}`);
    expectError(missing, 400, 'deviceId: Required');
    const env = { SLUICE_URL: node.url, SLUICE_KEY: tenant.secret };
    const command = await runSluiceHere(['device', 'erase', '..', '--app', tenant.app], env);
    expect([command.code, command.stderr]).toEqual([1, 'sluice: Unknown device\n']);
  });
});
