// Tests the real electron-updater against a running service (docs/contract.md 4.8 and 16): for every platform
// and arch that Electron apps ship for, the right version and the right file.

import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { type ElectronClientOptions, runElectronClient } from '../support/electron-client.ts';
import { deviceSuiteOnce } from '../support/service-suite.ts';
import { control, createTenant, publish, type Tenant } from '../support/tenant.ts';

type Client = Pick<ElectronClientOptions, 'type' | 'arch'>;

const BASE = 'https://downloads.example.com';
const FLEET_SIZE = 5000;
const AT_ONCE = 50;

/** Files that electron-builder makes of one version, with its own names, which mostly leave out x64. */
function fileSet(version: string) {
  const at = (platform: string, arch: string | undefined, name: string) => ({
    platform,
    ...(arch === undefined ? {} : { arch }),
    url: `${BASE}/${version}/${name}`,
    sha512: sumOf(name),
    size: name.length,
  });
  return [
    at('linux', 'arm64', `App-${version}-arm64.AppImage`),
    at('windows', 'arm64', `App-Setup-${version}-arm64.exe`),
    at('darwin', 'arm64', `App-${version}-arm64.dmg`),
    at('darwin', 'arm64', `App-${version}-arm64-mac.zip`),
    at('windows', 'ia32', `App-Setup-${version}-ia32.exe`),
    at('windows', 'x64', `App-Setup-${version}.exe`),
    at('windows', 'x64', `App-${version}.msi`),
    at('windows', 'x64', `App-${version}-win.zip`),
    at('darwin', 'x64', `App-${version}.dmg`),
    at('darwin', 'x64', `App-${version}-mac.zip`),
    at('linux', 'x64', `App-${version}.AppImage`),
    at('linux', 'x64', `app_${version}_amd64.deb`),
    at('linux', 'arm64', `app_${version}_arm64.deb`),
    at('linux', 'x64', `app-${version}.x86_64.rpm`),
    at('linux', 'arm64', `app-${version}.aarch64.rpm`),
    at('linux', 'x64', `app-${version}.pacman`),
    at('linux', 'armv7l', `app_${version}_armv7l.deb`),
  ];
}

function sumOf(name: string): string {
  return createHash('sha512').update(name).digest('base64');
}

/** Files of a version as another tool may name them: no address has Electron's name of its arch. */
function foreignFileSet(version: string) {
  const at = (platform: string, arch: string, name: string) => ({
    platform,
    arch,
    url: `${BASE}/${version}/${name}`,
    sha512: createHash('sha512').update(name).digest('hex'),
  });
  return [
    at('windows', 'aarch64', 'app_aarch64.exe'),
    at('windows', 'i686', 'app_i686.exe'),
    at('windows', 'x86_64', 'app_x86_64.exe'),
    at('darwin', 'aarch64', 'app_aarch64.zip'),
    at('darwin', 'x86_64', 'app_x86_64.zip'),
    at('linux', 'aarch64', 'app_aarch64.AppImage'),
    at('linux', 'x86_64', 'app_x86_64.AppImage'),
  ];
}

const EXPECTED: readonly (readonly [Client, string])[] = [
  [{ type: 'nsis', arch: 'x64' }, 'App-Setup-2.0.0.exe'],
  [{ type: 'nsis', arch: 'arm64' }, 'App-Setup-2.0.0-arm64.exe'],
  [{ type: 'nsis', arch: 'ia32' }, 'App-Setup-2.0.0-ia32.exe'],
  [{ type: 'mac', arch: 'x64' }, 'App-2.0.0-mac.zip'],
  [{ type: 'mac', arch: 'arm64' }, 'App-2.0.0-arm64-mac.zip'],
  [{ type: 'AppImage', arch: 'x64' }, 'App-2.0.0.AppImage'],
  [{ type: 'AppImage', arch: 'arm64' }, 'App-2.0.0-arm64.AppImage'],
  [{ type: 'deb', arch: 'x64' }, 'app_2.0.0_amd64.deb'],
  [{ type: 'deb', arch: 'arm64' }, 'app_2.0.0_arm64.deb'],
  [{ type: 'rpm', arch: 'x64' }, 'app-2.0.0.x86_64.rpm'],
  [{ type: 'rpm', arch: 'arm64' }, 'app-2.0.0.aarch64.rpm'],
  [{ type: 'pacman', arch: 'x64' }, 'app-2.0.0.pacman'],
];

const FOREIGN: readonly (readonly [Client, string])[] = [
  [{ type: 'nsis', arch: 'x64' }, 'app_x86_64.exe'],
  [{ type: 'nsis', arch: 'arm64' }, 'app_aarch64.exe'],
  [{ type: 'nsis', arch: 'ia32' }, 'app_i686.exe'],
  [{ type: 'mac', arch: 'x64' }, 'app_x86_64.zip'],
  [{ type: 'mac', arch: 'arm64' }, 'app_aarch64.zip'],
  [{ type: 'AppImage', arch: 'x64' }, 'app_x86_64.AppImage'],
  [{ type: 'AppImage', arch: 'arm64' }, 'app_aarch64.AppImage'],
];

deviceSuiteOnce('electron-updater itself', (node) => {
  const run = (tenant: Tenant, client: Client, more: Partial<ElectronClientOptions> = {}) =>
    runElectronClient({
      electronUrl: `${node.url}/e/${tenant.app}/stable`,
      version: '1.0.0',
      ...client,
      ...more,
    });

  async function tenantWith(...releases: readonly [string, Record<string, unknown>][]) {
    const tenant = await createTenant(node);
    for (const [version, more] of releases) {
      const answer = await publish(node, tenant, version, more);
      expect(answer.status, answer.text).toBe(201);
    }
    return tenant;
  }

  describe('with the files of electron-builder', () => {
    let tenant: Tenant;
    beforeAll(async () => {
      tenant = await tenantWith(
        ['1.0.0', { artifacts: fileSet('1.0.0') }],
        ['2.0.0', { artifacts: fileSet('2.0.0'), notes: '# New\n\n- 2026-01-02\n- 1.10' }],
      );
    });

    it.each(EXPECTED)('%o takes %s', async (client, name) => {
      const answer = await run(tenant, client);
      expect(answer).toEqual({
        isUpdateAvailable: true,
        version: '2.0.0',
        file: { url: `${BASE}/2.0.0/${name}`, sha512: sumOf(name) },
      });
    });

    it('stays where it is when it runs the version on offer, or a newer one', async () => {
      for (const version of ['2.0.0', '3.0.0']) {
        const answer = await run(tenant, { type: 'nsis', arch: 'x64' }, { version });
        expect(answer).toMatchObject({ isUpdateAvailable: false, version: '2.0.0' });
      }
    });
  });

  describe('with the arch in the address', () => {
    let tenant: Tenant;
    beforeAll(async () => {
      // The newer release has no file for arm64 on Windows.
      const artifacts = fileSet('2.1.0').filter(({ url }) => !url.endsWith('-arm64.exe'));
      tenant = await tenantWith(
        ['2.0.0', { artifacts: fileSet('2.0.0') }],
        ['2.1.0', { artifacts }],
      );
    });
    // `${arch}` in the address of a provider is replaced when the app is built.
    const runBuiltFor = (client: Client) =>
      run(tenant, client, { electronUrl: `${node.url}/e/${tenant.app}/stable/${client.arch}` });

    it.each(EXPECTED)(
      '%o takes its file of the highest release that has one (§16.12)',
      async (client, name) => {
        const version = name.endsWith('-arm64.exe') ? '2.0.0' : '2.1.0';
        const expected = name.replace('2.0.0', version);
        expect(await runBuiltFor(client)).toEqual({
          isUpdateAvailable: true,
          version,
          file: { url: `${BASE}/${version}/${expected}`, sha512: sumOf(expected) },
        });
      },
    );
  });

  describe('with addresses that name no arch of Electron', () => {
    let tenant: Tenant;
    beforeAll(async () => {
      tenant = await tenantWith(['2.0.0', { artifacts: foreignFileSet('2.0.0') }]);
    });

    it.each(FOREIGN)('%o takes %s', async (client, name) => {
      const { file } = await run(tenant, client);
      const sha512 = sumOf(name);
      expect({ ...file, url: file?.url.replace(/#.*/, '') }).toEqual({
        url: `${BASE}/2.0.0/${name}`,
        sha512,
      });
    });
  });

  it('asks for the files of its own channel when it is a prerelease', async () => {
    const tenant = await tenantWith();
    const beta = { channel: 'beta', artifacts: fileSet('2.0.0-beta.2') };
    await publish(node, tenant, '2.0.0-beta.2', beta);
    const electronUrl = `${node.url}/e/${tenant.app}/beta`;
    const more = { electronUrl, version: '2.0.0-beta.1', channel: 'beta' };
    for (const client of [
      { type: 'nsis', arch: 'x64' },
      { type: 'mac', arch: 'arm64' },
      { type: 'AppImage', arch: 'arm64' },
    ] as const) {
      expect(await run(tenant, client, more)).toMatchObject({ version: '2.0.0-beta.2' });
    }
  });

  it('fails with its own error where nothing is on offer', async () => {
    const tenant = await tenantWith();
    await expect(run(tenant, { type: 'nsis', arch: 'x64' })).rejects.toMatchObject({
      code: 'ERR_UPDATER_CHANNEL_FILE_NOT_FOUND',
    });
  });

  it('a release at 20 % reaches 20 % of 5,000 stock clients, the rest get the one before', async () => {
    const tenant = await tenantWith(
      ['1.5.0', { artifacts: fileSet('1.5.0') }],
      ['2.0.0', { artifacts: fileSet('2.0.0'), rollout: 20 }],
    );
    const counts = new Map<string, number>();
    for (let from = 0; from < FLEET_SIZE; from += AT_ONCE) {
      const answers = await Promise.all(
        Array.from({ length: AT_ONCE }, () => run(tenant, { type: 'nsis', arch: 'x64' })),
      );
      for (const { version } of answers) counts.set(version, (counts.get(version) ?? 0) + 1);
    }
    const reached = counts.get('2.0.0') ?? 0;
    const sigma = Math.sqrt(FLEET_SIZE * 0.2 * 0.8);
    expect(Math.abs(reached - FLEET_SIZE * 0.2)).toBeLessThan(4 * sigma);
    expect(counts.get('1.5.0')).toBe(FLEET_SIZE - reached);

    // A client keeps its identity, so it keeps its answer as the rollout rises.
    await control(node, tenant, '2.0.0', { rollout: 100 });
    expect(await run(tenant, { type: 'nsis', arch: 'x64' })).toMatchObject({ version: '2.0.0' });
  }, 120_000);
});
