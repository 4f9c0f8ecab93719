// Tests that the record of a device tells how it asked last, and that the console explains the decision which
// such a client gets (docs/contract.md 20.6).

import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { at, tenantWith } from '../support/released.ts';
import { deviceSuite } from '../support/service-suite.ts';
import { admin, createTenant, decisions, report, send, type Tenant } from '../support/tenant.ts';

type Fields = Record<string, unknown>;

const TAURI = { 'User-Agent': 'tauri-plugin-updater/2.9.0' };
const SUMS = { sha1: 'ab'.repeat(20), sha512: 'ab'.repeat(64), size: 1 };

deviceSuite('clients of devices', (node) => {
  /** The device of a test: all suites share the budgets of devices on one node. */
  let d: string;
  beforeEach(() => {
    d = randomUUID();
  });

  function artifact(platform: string, name: string, more: Fields = {}): Fields {
    return { platform, url: at(name), ...SUMS, ...more };
  }

  async function recorded(tenant: Tenant, deviceId: string): Promise<Fields | undefined> {
    const { body } = await admin(node, 'GET', `device?app=${tenant.app}&deviceId=${deviceId}`);
    return body?.deviceId === undefined ? undefined : (body as Fields);
  }

  async function becomes(tenant: Tenant, deviceId: string, client: string, bundle: string | null) {
    await eventually(`it is recorded as ${client}`, async () => {
      const found = await recorded(tenant, deviceId);
      return found?.client === client && found.bundle === bundle;
    });
  }

  async function explained(tenant: Tenant, deviceId: string): Promise<Fields> {
    const { status, body, text } = await admin(
      node,
      'GET',
      `decision?app=${tenant.app}&deviceId=${deviceId}`,
    );
    expect(status, text).toBe(200);
    return body as Fields;
  }

  /** Asks at a device address as a device, of which it is then recorded how it asked. */
  async function ask(tenant: Tenant, deviceId: string, path: string, headers: Fields = {}) {
    const [surface = '', rest = ''] = path.split(' ');
    const { status } = await send(node, 'GET', `/${surface}/${tenant.app}/stable/${rest}`, {
      headers: { ...headers, 'X-Service-Device': deviceId },
    });
    expect([200, 204, 404]).toContain(status);
  }

  it('a record has the way to ask and the bundle of the last check (§20.6)', async () => {
    const tenant = await createTenant(node);
    for (const [path, headers, client, bundle] of [
      ['u linux/x64/1.0.0', {}, 'u', null],
      ['u linux/x64/1.0.0?bundle=DEB', {}, 'u', 'deb'],
      ['u linux/x64/1.0.0?bundle_type=appimage', TAURI, 'tauri', 'appimage'],
      ['u linux/x64/1.0.0?bundle={{bundle_type}}', TAURI, 'tauri', null],
      ['e latest-linux.yml', {}, 'e', null],
      ['squirrel darwin-arm64/1.0.0', {}, 'squirrel', 'zip'],
      ['squirrel win32-x64/msix/1.0.0', {}, 'squirrel', 'msix'],
      ['squirrel win32-x64/1.0.0/RELEASES', {}, 'squirrel', 'nupkg'],
      ['velopack releases.win.json?localVersion=1.0.0', {}, 'velopack', null],
      ['sparkle appcast-windows.xml', {}, 'sparkle', null],
    ] as const) {
      await ask(tenant, d, path, headers);
      await becomes(tenant, d, client, bundle);
    }
  });

  it('a decisions call and a report are asked through an orchestrator (§20.6)', async () => {
    const tenant = await createTenant(node);
    const device = { deviceId: d, version: '1.0.0', platform: 'linux', arch: 'x64' };
    const decided = await decisions(node, tenant, [{ ...device, bundle: 'rpm' }]);
    expect(decided.status, decided.text).toBe(200);
    expect(await recorded(tenant, d)).toMatchObject({ client: 'push', bundle: 'rpm' });
    const reported = await report(node, tenant, [{ ...device, channel: 'stable' }]);
    expect(reported.status, reported.text).toBe(200);
    expect(await recorded(tenant, d)).toMatchObject({ client: 'push', bundle: null });
  });

  describe('the decision is explained as the client would get it (§20.6)', () => {
    it('a bundle gets its kind only', async () => {
      const tenant = await tenantWith(
        node,
        ['1.1.0', { artifacts: [artifact('linux', 'a.deb')] }],
        ['1.2.0', { artifacts: [artifact('linux', 'a.AppImage')] }],
      );
      await ask(tenant, d, 'u linux/x64/1.0.0?bundle=deb');
      await becomes(tenant, d, 'u', 'deb');
      expect(await explained(tenant, d)).toMatchObject({
        offer: { version: '1.1.0' },
        candidates: [
          {
            version: '1.2.0',
            verdict: 'no-artifact',
            detail: 'None of its artifacts for linux is one that this device can install.',
          },
          { version: '1.1.0', verdict: 'offered' },
        ],
      });
      await ask(tenant, d, 'u linux/x64/1.0.0');
      await becomes(tenant, d, 'u', null);
      expect(await explained(tenant, d)).toMatchObject({ offer: { version: '1.2.0' } });
    });

    it('Tauri gets what is signed only', async () => {
      const tenant = await tenantWith(
        node,
        ['1.1.0', { artifacts: [artifact('linux', 'a.AppImage', { signature: 's' })] }],
        ['1.2.0', { artifacts: [artifact('linux', 'b.AppImage')] }],
      );
      await ask(tenant, d, 'u linux/x64/1.0.0', TAURI);
      await becomes(tenant, d, 'tauri', null);
      expect(await explained(tenant, d)).toMatchObject({ offer: { version: '1.1.0' } });
    });

    it.each([
      ['e latest.yml', 'e', null, 'a-setup.exe'],
      ['squirrel win32-x64/1.0.0/RELEASES', 'squirrel', 'nupkg', 'a-full.nupkg'],
      ['squirrel win32-x64/msix/1.0.0', 'squirrel', 'msix', 'a.msix'],
      ['squirrel darwin-x64/1.0.0', 'squirrel', 'zip', 'a.zip'],
      ['velopack releases.win.json?localVersion=1.0.0', 'velopack', null, 'a-full.nupkg'],
      ['sparkle appcast.xml', 'sparkle', null, 'a.tar.xz'],
      ['u win32/x64/1.0.0?bundle=msi', 'u', 'msi', 'a.msi'],
    ])('%s gets what it installs', async (path, client, bundle, name) => {
      const isMac = /darwin|appcast/.test(path);
      const all = ['a-setup.exe', 'a-full.nupkg', 'a.msix', 'a.msi'];
      const platform = isMac ? 'darwin' : 'windows';
      const names = isMac ? ['a.app.tar.gz', name] : all;
      const artifacts = names.map((each) => artifact(platform, each));
      const tenant = await tenantWith(node, ['1.1.0', { artifacts }]);
      await ask(tenant, d, path);
      await becomes(tenant, d, client, bundle);
      const { offer, candidates } = await explained(tenant, d);
      expect(offer).toMatchObject({ version: '1.1.0', url: `https://dl.example.com/${name}` });
      expect(candidates).toMatchObject([{ version: '1.1.0', verdict: 'offered' }]);
    });

    it('a device of unknown version is decided as on /e, among all releases', async () => {
      const tenant = await tenantWith(
        node,
        ['1.0.0', { artifacts: [artifact('windows', 'a-setup.exe')] }],
        ['1.1.0', { artifacts: [artifact('windows', 'a.msi')] }],
      );
      await ask(tenant, d, 'e latest.yml');
      await becomes(tenant, d, 'e', null);
      expect(await explained(tenant, d)).toMatchObject({
        reason: 'offered',
        offer: { version: '1.0.0' },
        current: { version: null, status: null },
        candidates: [
          { version: '1.1.0', verdict: 'no-artifact' },
          { version: '1.0.0', verdict: 'offered' },
        ],
      });
    });
  });
});
