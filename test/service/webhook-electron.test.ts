// Tests that the real electron-updater takes what electron-builder uploads to a GitHub release and a signed
// webhook announces: GitHub's SHA-256 is used in place of the SHA-512, which GitHub does not send
// (docs/contract.md 16.6 and 18.10).

import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type ElectronClientOptions,
  fetchAsElectron,
  runElectronClient,
} from '../support/electron-client.ts';
import { expectError } from '../support/expect-error.ts';
import { asset, deliver, enableWebhook, releaseEvent } from '../support/github.ts';
import type { Json } from '../support/published.ts';
import { serviceSuite } from '../support/service-suite.ts';
import { createTenant, decisions, manage, send, type Tenant } from '../support/tenant.ts';

type Client = Pick<ElectronClientOptions, 'type' | 'arch'>;

/** What each client takes, of all targets of electron-builder with its names, as GitHub rewrites them. */
const EXPECTED: readonly (readonly [Client, string])[] = [
  [{ type: 'nsis', arch: 'x64' }, 'Acme.Notes.Setup.2.0.0.exe'],
  [{ type: 'nsis', arch: 'arm64' }, 'Acme.Notes.Setup.2.0.0-arm64.exe'],
  [{ type: 'nsis', arch: 'ia32' }, 'Acme.Notes.Setup.2.0.0-ia32.exe'],
  [{ type: 'mac', arch: 'x64' }, 'Acme.Notes-2.0.0-mac.zip'],
  [{ type: 'mac', arch: 'arm64' }, 'Acme.Notes-2.0.0-arm64-mac.zip'],
  [{ type: 'AppImage', arch: 'x64' }, 'Acme.Notes-2.0.0.AppImage'],
  [{ type: 'AppImage', arch: 'arm64' }, 'Acme.Notes-2.0.0-arm64.AppImage'],
  [{ type: 'AppImage', arch: 'arm' }, 'Acme.Notes-2.0.0-armv7l.AppImage'],
  [{ type: 'AppImage', arch: 'ia32' }, 'Acme.Notes-2.0.0-i386.AppImage'],
  [{ type: 'deb', arch: 'x64' }, 'acme-notes_2.0.0_amd64.deb'],
  [{ type: 'deb', arch: 'arm64' }, 'acme-notes_2.0.0_arm64.deb'],
  [{ type: 'deb', arch: 'arm' }, 'acme-notes_2.0.0_armv7l.deb'],
  [{ type: 'deb', arch: 'ia32' }, 'acme-notes_2.0.0_i386.deb'],
  [{ type: 'rpm', arch: 'x64' }, 'acme-notes-2.0.0.x86_64.rpm'],
  [{ type: 'rpm', arch: 'arm64' }, 'acme-notes-2.0.0.aarch64.rpm'],
  [{ type: 'rpm', arch: 'arm' }, 'acme-notes-2.0.0.armv7l.rpm'],
  [{ type: 'pacman', arch: 'x64' }, 'acme-notes-2.0.0.pacman'],
  [{ type: 'pacman', arch: 'arm64' }, 'acme-notes-2.0.0-aarch64.pacman'],
];
/** What else is in the release. `Acme.Notes.2.0.0.exe` is of the portable target, which is no installer. */
const OTHERS = [
  ...['Acme.Notes-2.0.0-arm64.dmg', 'Acme.Notes-2.0.0-ia32-win.zip', 'Acme.Notes-2.0.0-win.zip'],
  ...['Acme.Notes-2.0.0.dmg', 'Acme.Notes.2.0.0.exe', 'acme-notes-2.0.0.i686.rpm'],
  ...['acme-notes-2.0.0.tar.gz', 'acme-notes_2.0.0_amd64.snap'],
];
const BESIDE = [
  ...['Acme.Notes-2.0.0-arm64-mac.zip.blockmap', 'Acme.Notes-2.0.0-mac.zip.blockmap'],
  ...['Acme.Notes-2.0.0.dmg.blockmap', 'Acme.Notes.Setup.2.0.0.exe.blockmap', 'builder-debug.yml'],
  ...['latest-linux-arm.yml', 'latest-linux-arm64.yml', 'latest-linux-ia32.yml'],
  ...['latest-linux.yml', 'latest-mac.yml', 'latest.yml'],
];
/** Names of the installers, sorted as GitHub does. */
const INSTALLERS = [...EXPECTED.map(([, name]) => name), ...OTHERS].toSorted();

function sumOf(name: string): string {
  return createHash('sha256').update(name).digest('hex');
}

serviceSuite('a GitHub release for electron-updater', (node) => {
  let files: Server;
  let base: string;
  let tenant: Tenant;
  beforeAll(async () => {
    // Every file's content is its name.
    files = createServer(({ url = '' }, response) => response.end(url.slice(1)));
    await new Promise<void>((resolve) => files.listen(0, '127.0.0.1', resolve));
    base = `http://127.0.0.1:${(files.address() as AddressInfo).port}`;
    tenant = await createTenant(node);
    const names = [...INSTALLERS, ...BESIDE];
    await announce(tenant, [...names.map((name) => uploaded(name))]);
  });
  afterAll(async () => {
    files?.close();
  });

  function uploaded(name: string, more: Json = {}): Json {
    const digest = `sha256:${sumOf(name)}`;
    return asset(name, { digest, browser_download_url: `${base}/${name}`, ...more });
  }

  async function announce(to: Tenant, ...events: readonly (readonly Json[])[]): Promise<string> {
    const hook = await enableWebhook(node, to);
    let text = '';
    for (const assets of events) {
      const answer = await deliver(node, hook, releaseEvent('v2.0.0', { assets }));
      expect(answer.status, answer.text).toBe(200);
      ({ text } = answer);
    }
    return text;
  }

  const run = (client: Client, from = tenant) =>
    runElectronClient({
      electronUrl: `${node.url}/e/${from.app}/stable`,
      version: '1.0.0',
      ...client,
    });

  const updateFile = (from: Tenant) => send(node, 'GET', `/e/${from.app}/stable/latest.yml`);

  it.each(EXPECTED)('%o takes %s', async (client, name) => {
    expect(await run(client)).toEqual({
      isUpdateAvailable: true,
      version: '2.0.0',
      file: { url: `${base}/${name}`, sha512: undefined, sha2: sumOf(name) },
    });
  });

  it('is installed with the sum that GitHub told, and not with another one', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'sluice-download-'));
    try {
      const { file } = await run({ type: 'nsis', arch: 'x64' });
      if (file === undefined) throw new Error('the updater chose no file');
      const destination = join(directory, 'setup.exe');
      await fetchAsElectron(file, destination);
      expect(await readFile(destination, 'utf8')).toBe('Acme.Notes.Setup.2.0.0.exe');
      const tampered = { ...file, url: `${base}/other.exe` };
      await expect(fetchAsElectron(tampered, destination)).rejects.toMatchObject({
        code: 'ERR_CHECKSUM_MISMATCH',
      });
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  it('late assets bring their sums with them (§18.8)', async () => {
    const late = await createTenant(node);
    await announce(late, [], [...INSTALLERS.map((name) => uploaded(name))]);
    for (const [client, name] of EXPECTED) {
      expect((await run(client, late)).file, name).toMatchObject({ url: `${base}/${name}` });
    }
  });

  it('an upper-case sum is written in lower case', async () => {
    const own = await createTenant(node);
    const digest = `sha256:${'AB'.repeat(32)}`;
    await announce(own, [uploaded('setup.exe', { digest })]);
    const { text } = await updateFile(own);
    expect(load(text)).toMatchObject({ path: `${base}/setup.exe`, sha2: 'ab'.repeat(32) });
  });

  it('a digest that is none leaves the release without one, and without an update file', async () => {
    for (const digest of [
      ...[null, undefined, '', 'sha256:', `sha256:${'ab'.repeat(31)}`, 'ab'.repeat(32)],
      ...[`sha256:${'ab'.repeat(32)}\n`, `sha256:${'xy'.repeat(32)}`, `sha512:${'ab'.repeat(64)}`],
    ]) {
      const own = await createTenant(node);
      const text = await announce(own, [uploaded('setup.exe', { digest })]);
      expect(JSON.parse(text)).toMatchObject({ outcome: 'created', release: { version: '2.0.0' } });
      expectError(await updateFile(own), 404, 'No release offered');
    }
  });

  describe('the sum', () => {
    const CONTRACT_FIELDS = ['arch', 'platform', 'sha512', 'signature', 'size', 'url'];

    it("is in no answer but the update file's: an artifact has the contract's fields only (§2.1)", async () => {
      const own = await createTenant(node);
      const created = await announce(own, [uploaded('setup.exe')]);
      const completed = await announce(await createTenant(node), [], [uploaded('setup.exe')]);
      const device = { deviceId: 'a', version: '1.0.0', platform: 'windows' };
      const answers = {
        created,
        completed,
        duplicate: await announce(own, [uploaded('setup.exe')]),
        list: (await manage(node, own, 'GET', `releases?app=${own.app}`)).text,
        check: (await send(node, 'GET', `/u/${own.app}/stable/windows/x64/1.0.0`)).text,
        decisions: (await decisions(node, own, [device], { channel: 'stable' })).text,
        feed: (await send(node, 'GET', `/feed/${own.app}/stable`)).text,
        rss: (await send(node, 'GET', `/feed/${own.app}/stable/rss.xml`)).text,
      };
      for (const [name, text] of Object.entries(answers)) {
        expect(text, name).toContain('setup.exe');
        expect(text, name).not.toContain(sumOf('setup.exe'));
        expect(text, name).not.toContain('sha256');
      }
      const feed = JSON.parse(answers.feed) as { releases: { artifacts: Json[] }[] };
      for (const artifact of feed.releases.flatMap(({ artifacts }) => artifacts)) {
        expect(CONTRACT_FIELDS).toEqual(expect.arrayContaining(Object.keys(artifact)));
      }
    });

    it('published through the API, it is in the update file as well (§2.1)', async () => {
      const own = await createTenant(node);
      const url = 'https://dl.example.com/app-setup.exe';
      const artifacts = [{ platform: 'windows', url, sha256: 'ab'.repeat(32) }];
      const body = { app: own.app, channel: 'stable', version: '1.0.0', artifacts };
      const answer = await manage(node, own, 'POST', 'releases', body);
      expect(answer.status).toBe(201);
      const file = await send(node, 'GET', `/e/${own.app}/stable/latest.yml`);
      expect(file.text).toContain(`sha2: '${'ab'.repeat(32)}'`);
    });
  });
});
