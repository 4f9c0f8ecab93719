// Tests the real electron-updater against a running service (docs/contract.md 4.8 and 16): for every platform
// and arch that Electron apps ship for, the right version and the right file.

import { createHash } from 'node:crypto';
import { beforeAll, expect, it } from 'vitest';
import {
  type ElectronAnswer,
  type ElectronClientOptions,
  runElectronClient,
} from '../support/electron-client.ts';
import { anotherApp, at, release, serve } from '../support/released.ts';
import { deviceSuite } from '../support/service-suite.ts';
import { createTenant, type Tenant } from '../support/tenant.ts';

type Client = Pick<ElectronClientOptions, 'type' | 'arch'>;

const FLEET_SIZE = 300;
const AT_ONCE = 50;

/** Files that electron-builder makes of one version, with its own names, which mostly leave out x64. */
function fileSet(version: string) {
  return (
    [
      ['linux', 'arm64', `App-${version}-arm64.AppImage`],
      ['windows', 'arm64', `App-Setup-${version}-arm64.exe`],
      ['darwin', 'arm64', `App-${version}-arm64.dmg`],
      ['darwin', 'arm64', `App-${version}-arm64-mac.zip`],
      ['windows', 'ia32', `App-Setup-${version}-ia32.exe`],
      ['windows', 'x64', `App-Setup-${version}.exe`],
      ['windows', 'x64', `App-${version}.msi`],
      ['windows', 'x64', `App-${version}-win.zip`],
      ['darwin', 'x64', `App-${version}.dmg`],
      ['darwin', 'x64', `App-${version}-mac.zip`],
      ['linux', 'x64', `App-${version}.AppImage`],
      ['linux', 'x64', `app_${version}_amd64.deb`],
      ['linux', 'arm64', `app_${version}_arm64.deb`],
      ['linux', 'x64', `app-${version}.x86_64.rpm`],
      ['linux', 'arm64', `app-${version}.aarch64.rpm`],
      ['linux', 'x64', `app-${version}.pacman`],
      ['linux', 'armv7l', `app_${version}_armv7l.deb`],
    ] as const
  ).map(([platform, arch, name]) => {
    return {
      platform,
      arch,
      url: at(`${version}/${name}`),
      sha512: sumOf(name),
      size: name.length,
    };
  });
}

function sumOf(name: string, encoding: 'base64' | 'hex' = 'base64'): string {
  return createHash('sha512').update(name).digest(encoding);
}

/** Files of a version as another tool may name them: no address has Electron's name of its arch. */
const FOREIGN_FILES = (
  [
    ['windows', 'aarch64', 'app_aarch64.exe'],
    ['windows', 'i686', 'app_i686.exe'],
    ['windows', 'x86_64', 'app_x86_64.exe'],
    ['darwin', 'aarch64', 'app_aarch64.zip'],
    ['darwin', 'x86_64', 'app_x86_64.zip'],
    ['linux', 'aarch64', 'app_aarch64.AppImage'],
    ['linux', 'x86_64', 'app_x86_64.AppImage'],
  ] as const
).map(([platform, arch, name]) => {
  return { platform, arch, url: at(`2.0.0/${name}`), sha512: sumOf(name, 'hex') };
});

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

deviceSuite('electron-updater itself', (node) => {
  let tenant: Tenant;
  beforeAll(async () => {
    tenant = await createTenant(node);
  });

  const run = ({ app }: Tenant, client: Client, more: Partial<ElectronClientOptions> = {}) =>
    runElectronClient({
      electronUrl: `${node.url}/e/${app}/stable`,
      version: '1.0.0',
      ...client,
      ...more,
    });

  it('takes the file of its platform and arch among those of electron-builder', async () => {
    const notes = '# New\n\n- 2026-01-02\n- 1.10';
    const app = await anotherApp(
      node,
      tenant,
      ['1.0.0', { artifacts: fileSet('1.0.0') }],
      ['2.0.0', { artifacts: fileSet('2.0.0'), notes }],
    );
    for (const [client, name] of EXPECTED) {
      expect(await run(app, client)).toEqual(offerOf('2.0.0', name));
    }
    for (const version of ['2.0.0', '3.0.0']) {
      const answer = await run(app, { type: 'nsis', arch: 'x64' }, { version });
      expect(answer).toMatchObject({ isUpdateAvailable: false, version: '2.0.0' });
    }
  });

  it('with the arch in the address takes its file of the highest release that has one (§16.12)', async () => {
    // The newer release has no file for arm64 on Windows.
    const artifacts = fileSet('2.1.0').filter(({ url }) => !url.endsWith('-arm64.exe'));
    const app = await anotherApp(
      node,
      tenant,
      ['2.0.0', { artifacts: fileSet('2.0.0') }],
      ['2.1.0', { artifacts }],
    );
    for (const [client, name] of EXPECTED) {
      const version = name.endsWith('-arm64.exe') ? '2.0.0' : '2.1.0';
      // `${arch}` in the address of a provider is replaced when the app is built.
      const electronUrl = `${node.url}/e/${app.app}/stable/${client.arch}`;
      const answer = await run(app, client, { electronUrl });
      expect(answer).toEqual(offerOf(version, name.replace('2.0.0', version)));
    }
  });

  it('takes the right file also where addresses name no arch of Electron', async () => {
    const app = await anotherApp(node, tenant, ['2.0.0', { artifacts: FOREIGN_FILES }]);
    for (const [client, name] of FOREIGN) {
      const { file } = await run(app, client);
      const url = file?.url.replace(/#.*/, '');
      expect({ ...file, url }).toEqual(offerOf('2.0.0', name).file);
    }
  });

  it('takes what asks for no newer system than its own, by the version of its kernel (§16.13)', async () => {
    const app = await anotherApp(node, tenant);
    for (const [version, system, isTaken] of [
      ['2.0.0', '13.7', true],
      ['3.0.0', '14.0', false],
    ] as const) {
      const told = { sha512: sumOf('app'), minimumSystemVersion: system };
      const artifacts = [{ platform: 'darwin', url: at('app-mac.zip'), ...told }];
      await release(node, app, version, { artifacts });
      const answer = await run(app, { type: 'mac', arch: 'arm64' }, { kernel: '22.6.0' });
      expect(answer).toMatchObject({ version, isUpdateAvailable: isTaken });
    }
  });

  it('asks for the files of its own channel when it is a prerelease', async () => {
    const beta = { channel: 'beta', artifacts: fileSet('2.0.0-beta.2') };
    const app = await anotherApp(node, tenant, ['2.0.0-beta.2', beta]);
    const electronUrl = `${node.url}/e/${app.app}/beta`;
    const more = { electronUrl, version: '2.0.0-beta.1', channel: 'beta' };
    for (const client of [
      { type: 'nsis', arch: 'x64' },
      { type: 'mac', arch: 'arm64' },
      { type: 'AppImage', arch: 'arm64' },
    ] as const) {
      expect(await run(app, client, more)).toMatchObject({ version: '2.0.0-beta.2' });
    }
  });

  it('fails with its own error where nothing is on offer', async () => {
    await expect(run(tenant, { type: 'nsis', arch: 'x64' })).rejects.toMatchObject({
      code: 'ERR_UPDATER_CHANNEL_FILE_NOT_FOUND',
    });
  });

  it('a release at 20 % reaches 20 % of stock clients, the rest get the one before', async () => {
    const app = await anotherApp(
      node,
      tenant,
      ['1.5.0', { artifacts: fileSet('1.5.0') }],
      ['2.0.0', { artifacts: fileSet('2.0.0'), rollout: 20 }],
    );
    const counts = new Map<string, number>();
    for (let from = 0; from < FLEET_SIZE; from += AT_ONCE) {
      const answers = await Promise.all(
        Array.from({ length: AT_ONCE }, () => run(app, { type: 'nsis', arch: 'x64' })),
      );
      for (const { version } of answers) counts.set(version, (counts.get(version) ?? 0) + 1);
    }
    const reached = counts.get('2.0.0') ?? 0;
    const sigma = Math.sqrt(FLEET_SIZE * 0.2 * 0.8);
    expect(Math.abs(reached - FLEET_SIZE * 0.2)).toBeLessThan(5 * sigma);
    expect(counts.get('1.5.0')).toBe(FLEET_SIZE - reached);

    // A client keeps its identity, so it keeps its answer as the rollout rises.
    await serve(node, app, '2.0.0', { rollout: 100 });
    expect(await run(app, { type: 'nsis', arch: 'x64' })).toMatchObject({ version: '2.0.0' });
  });
});

/** Answer of a client that found this file. */
function offerOf(version: string, name: string): ElectronAnswer {
  const file = { url: at(`${version}/${name}`), sha512: sumOf(name), sha2: undefined };
  return { isUpdateAvailable: true, version, file };
}
