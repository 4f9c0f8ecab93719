// Tests the erasure of a device over HTTP: what is answered, and that check-ins in flight do
// not bring the device back (docs/contract.md 4.23). What goes and what stays is tested in
// test/store/ledger/fleet-erase-contract.ts.

import { expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { expectError } from '../support/expect-error.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { runSluiceHere } from '../support/sluice-command.ts';
import { createTenant, type Tenant } from '../support/tenant.ts';

const DEVICE = { version: '1.0.0', platform: 'linux', arch: 'x86_64' };

serviceSuite('erasure of a device', (node) => {
  async function furnish(deviceId: string): Promise<Tenant> {
    const tenant = await createTenant(node);
    const device = { deviceId, ...DEVICE, labels: { ring: 'a' } };
    expect((await tenant.report([device])).status).toBe(200);
    return tenant;
  }

  const erase = (tenant: Tenant, deviceId: string) =>
    tenant.manage('DELETE', `devices/${encodeURIComponent(deviceId)}?app=${tenant.app}`);

  it('is 204 once, then 404, and the audit has a hash of the id (§4.23)', async () => {
    const tenant = await furnish('a device/1');
    expect(await erase(tenant, 'a device/1')).toMatchObject({ status: 204, text: '' });
    expectError(await erase(tenant, 'a device/1'), 404, 'Unknown device');
    expectError(await tenant.manage('DELETE', 'devices/one'), 400, 'app: Required');
    expect(await tenant.deviceIds()).toEqual([]);
    const [entry] = await tenant.audit('action=device&limit=1');
    expect(entry).toMatchObject({ action: 'device.erase', subject: tenant.app, after: null });
    expect(JSON.stringify(entry)).not.toContain('a device/1');
  });

  it('checks in flight, and in the queue, do not bring it back; a later one makes a new device without labels', async () => {
    const tenant = await furnish('one');
    await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        tenant.check(`1.${index}.0`, { device: index % 2 === 0 ? 'one' : `other-${index}` }),
      ),
    );
    expect((await erase(tenant, 'one')).status).toBe(204);
    await tenant.check('9.0.0', { device: 'last' });
    await eventually('what was asked later is on record', async () => {
      const ids = await tenant.deviceIds();
      return ids.includes('last') && ids.length >= 51;
    });
    expect(await tenant.deviceIds()).not.toContain('one');
    await tenant.check('2.0.0', { device: 'one' });
    await eventually('it is on record', async () => (await tenant.deviceIds()).includes('one'));
    const [device] = await tenant.devices('version=2.0.0');
    expect(device).toMatchObject({ deviceId: 'one', labels: {} });
  });

  it('the command says that it is done; ids that addresses fold away are named in the query (§4.23, §19.11)', async () => {
    const tenant = await furnish('one');
    const env = { SLUICE_URL: node.url, SLUICE_KEY: tenant.secret };
    const run = (id: string) => runSluiceHere(['device', 'erase', id, '--app', tenant.app], env);
    expect((await run('one')).stdout).toBe('Erased. When it asks again, it is a new device.\n');
    for (const id of ['one', '..']) {
      const again = await run(id);
      expect([again.code, again.stderr]).toEqual([1, 'sluice: Unknown device\n']);
    }
    expect((await tenant.report([{ deviceId: 'two', ...DEVICE }])).status).toBe(200);
    const query = `devices?app=${tenant.app}`;
    expect((await tenant.manage('DELETE', `${query}&deviceId=two`)).status).toBe(204);
    expectError(await tenant.manage('DELETE', query), 400, 'deviceId: Required');
    expect(await tenant.deviceIds()).toEqual([]);
  });
});
