// Tests that the record of a device tells how it asked last, and that the console explains the decision which
// such a client gets (docs/contract.md 20.6).

import { randomUUID } from 'node:crypto';
import { beforeEach, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { at } from '../support/released.ts';
import { deviceSuite } from '../support/service-suite.ts';
import { admin, createTenant, type Json, send, type Tenant } from '../support/tenant.ts';

const TAURI = { 'User-Agent': 'tauri-plugin-updater/2.9.0' };
const SUMS = { sha1: 'ab'.repeat(20), sha512: 'ab'.repeat(64), size: 1 };

deviceSuite('clients of devices', (node) => {
  /** The device of a test: all suites share the budgets of devices on one node. */
  let d: string;
  beforeEach(() => {
    d = randomUUID();
  });

  function artifact(platform: string, name: string, more: Json = {}): Json {
    return { platform, url: at(name), ...SUMS, ...more };
  }

  async function recorded(tenant: Tenant, deviceId: string): Promise<Json | undefined> {
    const { body } = await admin(node, 'GET', `device?app=${tenant.app}&deviceId=${deviceId}`);
    return body?.deviceId === undefined ? undefined : (body as Json);
  }

  async function becomes(tenant: Tenant, deviceId: string, client: string, bundle: string | null) {
    await eventually(`it is recorded as ${client}`, async () => {
      const found = await recorded(tenant, deviceId);
      return found?.client === client && found.bundle === bundle;
    });
  }

  async function explained(tenant: Tenant, deviceId: string): Promise<Json> {
    const { status, body, text } = await admin(
      node,
      'GET',
      `decision?app=${tenant.app}&deviceId=${deviceId}`,
    );
    expect(status, text).toBe(200);
    return body as Json;
  }

  /** Asks at a device address as a device, of which it is then recorded how it asked. */
  async function ask(tenant: Tenant, deviceId: string, path: string, headers: Json = {}) {
    const [surface = '', rest = ''] = path.split(' ');
    const { status } = await send(node, 'GET', `/${surface}/${tenant.app}/stable/${rest}`, {
      headers: { ...headers, 'X-Service-Device': deviceId },
    });
    expect([200, 204, 404]).toContain(status);
  }

  it('a record has the way to ask and the bundle of the last check, and is explained as that client is decided for (§20.6)', async () => {
    const windows = ['a-setup.exe', 'a-full.nupkg', 'a.msix', 'a.msi'];
    const artifacts = [
      ...windows.map((name) => artifact('windows', name)),
      ...['a.app.tar.gz', 'a.zip'].map((name) => artifact('darwin', name)),
      ...[artifact('linux', 'a.AppImage', { signature: 's' }), artifact('linux', 'a.deb')],
    ];
    const tenant = await createTenant(node, ['1.1.0', { artifacts }]);
    for (const [path, headers, client, bundle, name] of [
      ['u linux/x64/1.0.0?bundle=DEB', {}, 'u', 'deb', 'a.deb'],
      ['u linux/x64/1.0.0?bundle_type=appimage', TAURI, 'tauri', 'appimage', 'a.AppImage'],
      ['u linux/x64/1.0.0?bundle={{bundle_type}}', TAURI, 'tauri', null, 'a.AppImage'],
      ['u linux/x64/1.0.0', {}, 'u', null, 'a.AppImage'],
      ['u win32/x64/1.0.0?bundle=msi', {}, 'u', 'msi', 'a.msi'],
      ['e latest.yml', {}, 'e', null, 'a-setup.exe'],
      ['squirrel win32-x64/1.0.0/RELEASES', {}, 'squirrel', 'nupkg', 'a-full.nupkg'],
      ['squirrel win32-x64/msix/1.0.0', {}, 'squirrel', 'msix', 'a.msix'],
      ['squirrel darwin-x64/1.0.0', {}, 'squirrel', 'zip', 'a.zip'],
      ['velopack releases.win.json?localVersion=1.0.0', {}, 'velopack', null, 'a-full.nupkg'],
      ['sparkle appcast.xml', {}, 'sparkle', null, 'a.zip'],
    ] as const) {
      await ask(tenant, d, path, headers);
      await becomes(tenant, d, client, bundle);
      const { offer, candidates } = await explained(tenant, d);
      expect(offer, path).toMatchObject({ url: at(name) });
      expect(candidates).toMatchObject([{ version: '1.1.0', verdict: 'offered' }]);
    }
  });

  it('a decisions call and a report are asked through an orchestrator (§20.6)', async () => {
    const tenant = await createTenant(node);
    const device = { deviceId: d, version: '1.0.0', platform: 'linux', arch: 'x64' };
    const decided = await tenant.decisions([{ ...device, bundle: 'rpm' }]);
    expect(decided.status, decided.text).toBe(200);
    expect(await recorded(tenant, d)).toMatchObject({ client: 'push', bundle: 'rpm' });
    const reported = await tenant.report([{ ...device, channel: 'stable' }]);
    expect(reported.status, reported.text).toBe(200);
    expect(await recorded(tenant, d)).toMatchObject({ client: 'push', bundle: null });
  });

  it('what the client cannot install is explained, among all releases where its version is unknown (§20.6)', async () => {
    const tenant = await createTenant(
      node,
      ['1.0.0', { artifacts: [artifact('windows', 'a-setup.exe')] }],
      ['1.1.0', { artifacts: [artifact('windows', 'a.msi')] }],
    );
    await ask(tenant, d, 'e latest.yml');
    await becomes(tenant, d, 'e', null);
    const detail = 'None of its artifacts for windows is one that this device can install.';
    expect(await explained(tenant, d)).toMatchObject({
      reason: 'offered',
      offer: { version: '1.0.0' },
      current: { version: null, status: null },
      candidates: [
        { version: '1.1.0', verdict: 'no-artifact', detail },
        { version: '1.0.0', verdict: 'offered' },
      ],
    });
  });
});
