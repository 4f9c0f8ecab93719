// Tests the real electron-updater against a running service (docs/contract.md 4.8 and 16): for every platform
// and arch that Electron apps ship for, the right version and the right file.

import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import {
  type ElectronAnswer,
  type ElectronClientOptions,
  runElectronClient,
} from '../support/electron-client.ts';
import { artifacts, at } from '../support/released.ts';
import { deviceSuite, suiteTenant } from '../support/service-suite.ts';
import type { Tenant } from '../support/tenant.ts';

type Client = Pick<ElectronClientOptions, 'type' | 'arch'>;

const FLEET_SIZE = 100;
const AT_ONCE = 50;

/** Files that electron-builder makes of a version, with its own names, which mostly leave out x64. */
const FILES = `
  linux/arm64 App-VERSION-arm64.AppImage, windows/arm64 App-Setup-VERSION-arm64.exe,
  darwin/arm64 App-VERSION-arm64.dmg, darwin/arm64 App-VERSION-arm64-mac.zip,
  windows/ia32 App-Setup-VERSION-ia32.exe, windows/x64 App-Setup-VERSION.exe,
  windows/x64 App-VERSION.msi, windows/x64 App-VERSION-win.zip, darwin/x64 App-VERSION.dmg,
  darwin/x64 App-VERSION-mac.zip, linux/x64 App-VERSION.AppImage,
  linux/x64 app_VERSION_amd64.deb, linux/arm64 app_VERSION_arm64.deb,
  linux/x64 app-VERSION.x86_64.rpm, linux/arm64 app-VERSION.aarch64.rpm,
  linux/x64 app-VERSION.pacman, linux/armv7l app_VERSION_armv7l.deb`;
/** Files as another tool may name them: no address has Electron's name of its arch. */
const FOREIGN_FILES = `windows/aarch64 app_aarch64.exe, windows/i686 app_i686.exe,
  windows/x86_64 app_x86_64.exe, darwin/aarch64 app_aarch64.zip, darwin/x86_64 app_x86_64.zip,
  linux/aarch64 app_aarch64.AppImage, linux/x86_64 app_x86_64.AppImage`;

/** Artifacts of a version, each with a sum of its own. */
function fileSet(version: string, files = FILES, encoding: 'base64' | 'hex' = 'base64') {
  return artifacts(files.replaceAll('VERSION', version)).map(({ platform, arch, url = '' }) => {
    const name = url.slice(at('').length);
    return { platform, arch, url: at(`${version}/${name}`), sha512: sumOf(name, encoding) };
  });
}

function sumOf(name: string, encoding: 'base64' | 'hex' = 'base64'): string {
  return createHash('sha512').update(name).digest(encoding);
}

/** Clients, each with its file of electron-builder and, where that names one for it, of the other tool. */
const EXPECTED: readonly (readonly [
  ...Parameters<typeof clientOf>,
  file: string,
  foreign?: string,
])[] = [
  ['nsis', 'x64', 'App-Setup-VERSION.exe', 'app_x86_64.exe'],
  ['nsis', 'arm64', 'App-Setup-VERSION-arm64.exe', 'app_aarch64.exe'],
  ['nsis', 'ia32', 'App-Setup-VERSION-ia32.exe', 'app_i686.exe'],
  ['mac', 'x64', 'App-VERSION-mac.zip', 'app_x86_64.zip'],
  ['mac', 'arm64', 'App-VERSION-arm64-mac.zip', 'app_aarch64.zip'],
  ['AppImage', 'x64', 'App-VERSION.AppImage', 'app_x86_64.AppImage'],
  ['AppImage', 'arm64', 'App-VERSION-arm64.AppImage', 'app_aarch64.AppImage'],
  ['deb', 'x64', 'app_VERSION_amd64.deb'],
  ['deb', 'arm64', 'app_VERSION_arm64.deb'],
  ['rpm', 'x64', 'app-VERSION.x86_64.rpm'],
  ['rpm', 'arm64', 'app-VERSION.aarch64.rpm'],
  ['pacman', 'x64', 'app-VERSION.pacman'],
];

function clientOf(type: ElectronClientOptions['type'], arch: string): Client {
  return { type, arch };
}

deviceSuite('electron-updater itself', (node) => {
  const tenant = suiteTenant(node);

  const run = ({ app }: Tenant, client: Client, more: Partial<ElectronClientOptions> = {}) =>
    runElectronClient({
      electronUrl: `${node.url}/e/${app}/stable`,
      version: '1.0.0',
      ...client,
      ...more,
    });

  it('takes the file of its platform and arch, also where the address names the arch, or no file does (§16.7, §16.12)', async () => {
    // The newer release has no file for arm64 on Windows.
    const newer = fileSet('2.1.0').filter(({ url }) => !url.endsWith('-arm64.exe'));
    const app = await tenant.anotherApp(
      ['1.0.0', { artifacts: fileSet('1.0.0') }],
      ['2.0.0', { artifacts: fileSet('2.0.0') }],
    );
    const foreign = await tenant.anotherApp([
      '2.0.0',
      { artifacts: fileSet('2.0.0', FOREIGN_FILES, 'hex') },
    ]);
    for (const [type, arch, file, other] of EXPECTED) {
      const client = clientOf(type, arch);
      expect(await run(app, client)).toEqual(offerOf('2.0.0', file));
      if (other === undefined) continue;
      const found = (await run(foreign, client)).file;
      const url = found?.url.replace(/#.*/, '');
      expect({ ...found, url }).toEqual(offerOf('2.0.0', other).file);
    }
    for (const version of ['2.0.0', '3.0.0']) {
      const answer = await run(app, clientOf('nsis', 'x64'), { version });
      expect(answer).toMatchObject({ isUpdateAvailable: false, version: '2.0.0' });
    }
    await app.release('2.1.0', { artifacts: newer });
    for (const [type, arch, file] of EXPECTED) {
      // `${arch}` in the address of a provider is replaced when the app is built.
      const electronUrl = `${node.url}/e/${app.app}/stable/${arch}`;
      const answer = await run(app, clientOf(type, arch), { electronUrl });
      expect(answer).toEqual(offerOf(file.endsWith('-arm64.exe') ? '2.0.0' : '2.1.0', file));
    }
  });

  it('takes what asks for no newer system than its own, by the version of its kernel (§16.13)', async () => {
    const app = await tenant.anotherApp();
    for (const [version, system, isTaken] of [
      ['2.0.0', '13.7', true],
      ['3.0.0', '14.0', false],
    ] as const) {
      const told = { sha512: sumOf('app'), minimumSystemVersion: system };
      const mac = { platform: 'darwin', url: at('app-mac.zip'), ...told };
      await app.release(version, { artifacts: [mac] });
      const answer = await run(app, { type: 'mac', arch: 'arm64' }, { kernel: '22.6.0' });
      expect(answer).toMatchObject({ version, isUpdateAvailable: isTaken });
    }
  });

  it('asks for the files of its own channel when it is a prerelease', async () => {
    const beta = { channel: 'beta', artifacts: fileSet('2.0.0-beta.2') };
    const app = await tenant.anotherApp(['2.0.0-beta.2', beta]);
    const electronUrl = `${node.url}/e/${app.app}/beta`;
    const more = { electronUrl, version: '2.0.0-beta.1', channel: 'beta' };
    for (const client of [clientOf('nsis', 'x64'), clientOf('mac', 'arm64')]) {
      expect(await run(app, client, more)).toMatchObject({ version: '2.0.0-beta.2' });
    }
  });

  it('fails with its own error where nothing is on offer', async () => {
    await expect(run(tenant, { type: 'nsis', arch: 'x64' })).rejects.toMatchObject({
      code: 'ERR_UPDATER_CHANNEL_FILE_NOT_FOUND',
    });
  });

  it('a release at 20 % reaches 20 % of stock clients, the rest get the one before', async () => {
    const app = await tenant.anotherApp(
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
    await app.serve('2.0.0', { rollout: 100 });
    expect(await run(app, { type: 'nsis', arch: 'x64' })).toMatchObject({ version: '2.0.0' });
  });
});

/** Answer of a client that found this file of a version. */
function offerOf(version: string, file: string): ElectronAnswer {
  const name = file.replace('VERSION', version);
  const found = { url: at(`${version}/${name}`), sha512: sumOf(name), sha2: undefined };
  return { isUpdateAvailable: true, version, file: found };
}
