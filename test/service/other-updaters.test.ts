// Tests the updaters beside Tauri's and electron-updater's (docs/contract.md 21), over HTTP: Squirrel.Mac and
// MSIX, Squirrel.Windows, Velopack, update files for one arch, and downloads for people. What their clients
// read is held against rules written from their sources.

import { randomUUID } from 'node:crypto';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { expectError } from '../support/expect-error.ts';
import { at, release, serve } from '../support/released.ts';
import { deviceSuite } from '../support/service-suite.ts';
import {
  type Answer,
  control,
  createTenant,
  devicesOf,
  send,
  type Tenant,
} from '../support/tenant.ts';

type Fields = Record<string, unknown>;

const SHA1 = 'ab'.repeat(20);
const SHA256 = 'cd'.repeat(32);

/**
 * `ReleaseEntry.ParseReleaseEntry` of Squirrel.Windows: its expression for a line, and for the version in a
 * name.
 */
const RELEASE_ENTRY = /^([0-9a-fA-F]{40})\s+(\S+)\s+(\d+)[\r]*$/;
const PACKAGE_VERSION = /(\d+\.\d+\.\d+(?:-[\w.]+)?)-full\.nupkg$/;

function artifact(platform: string, name: string, more: Fields = {}): Fields {
  return { platform, url: at(name), ...more };
}

function nupkg(version: string, more: Fields = {}): Fields {
  const sums = { sha1: SHA1, sha256: SHA256, size: 1234 };
  return artifact('windows', `Notes-${version}-full.nupkg`, { arch: 'x64', ...sums, ...more });
}

deviceSuite('other updaters', (node) => {
  /** An app with releases that have these artifacts. */
  async function serving(...releases: [version: string, artifacts: Fields[], more?: Fields][]) {
    const tenant = await createTenant(node);
    for (const each of releases) await put(tenant, ...each);
    return tenant;
  }

  async function put(tenant: Tenant, version: string, artifacts: Fields[], more: Fields = {}) {
    await release(node, tenant, version, { artifacts, ...more });
  }

  function get(path: string, headers: Record<string, string> = {}): Promise<Answer> {
    return send(node, 'GET', path, { headers });
  }

  describe('Squirrel.Mac', () => {
    const path = (tenant: Tenant, machine: string, version: string) =>
      `/squirrel/${tenant.app}/stable/${machine}/${version}`;

    it('a Mac gets the zip archive, with what the client reads (§21.1)', async () => {
      const tenant = await createTenant(node);
      const artifacts = [
        artifact('darwin', 'Notes.dmg', { arch: 'arm64' }),
        artifact('darwin', 'Notes-arm64.zip', { arch: 'arm64', sha256: SHA256, size: 5 }),
        artifact('darwin', 'Notes-x64.zip', { arch: 'x64' }),
      ];
      await put(tenant, 'v1.1.0', artifacts, { notes: 'Better.' });
      const answer = await get(path(tenant, 'darwin-arm64', '1.0.0'));
      expect(answer.headers.get('content-type')).toBe('application/json');
      expect(answer.headers.get('cache-control')).toBe('no-store');
      expect(answer.body).toEqual({
        url: at('Notes-arm64.zip'),
        name: 'v1.1.0',
        notes: 'Better.',
        pub_date: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        sha256: SHA256,
        size: 5,
      });
      const intel = await get(path(tenant, 'darwin-x64', '1.0.0'));
      expect(Object.keys(intel.body ?? {})).toEqual(['url', 'name', 'notes', 'pub_date']);
      expect(intel.body?.url).toBe(at('Notes-x64.zip'));
      const head = await send(node, 'HEAD', path(tenant, 'darwin-x64', '1.0.0'));
      expect([head.status, head.text]).toEqual([200, '']);
    });

    it('up to date, another platform, and nothing to unpack are 204; MSIX has its own address (§21.1)', async () => {
      const tenant = await createTenant(node);
      const msix = artifact('windows', 'Notes.msix');
      await put(tenant, '1.1.0', [artifact('darwin', 'Notes.dmg'), msix]);
      const address = `/squirrel/${tenant.app}/stable/win32-x64/msix/1.0.0`;
      expect((await get(address)).body?.url).toBe(at('Notes.msix'));
      expect((await get(address.replace('win32', 'darwin'))).status).toBe(204);
      for (const machine of ['darwin-arm64', 'linux-x64', 'win32-x64', 'freebsd-x64']) {
        expect((await get(path(tenant, machine, '1.0.0'))).status).toBe(204);
      }
      await put(tenant, '1.2.0', [artifact('darwin', 'Notes.zip')]);
      expect((await get(path(tenant, 'darwin-arm64', '1.2.0'))).status).toBe(204);
      expect((await get(path(tenant, 'darwin-universal', '1.1.0'))).status).toBe(200);
    });

    it('labels, the first offer and check-ins are those of every check (§21.4)', async () => {
      const tenant = await createTenant(node);
      const targets = { matchLabels: { ring: ['early'] } };
      await put(tenant, '1.1.0', [artifact('darwin', 'Notes.zip')], { targets });
      const device = { 'X-Service-Device': randomUUID() };
      const address = path(tenant, 'darwin-arm64', '1.0.0');
      expect((await get(address, device)).status).toBe(204);
      expect((await get(`${address}?l.ring=early`, device)).status).toBe(200);
      expect((await control(node, tenant, '1.1.0', { rollout: 1 })).status).toBe(422);
      await eventually('the device is on record', async () => {
        const [found] = await devicesOf(node, tenant);
        return found?.version === '1.0.0' && found?.platform === 'darwin';
      });
    });
  });

  describe('Squirrel.Windows', () => {
    const file = (tenant: Tenant, version: string) =>
      get(
        `/squirrel/${tenant.app}/stable/win32-x64/${version}/RELEASES?id=Notes&localVersion=${version}&arch=amd64`,
      );

    it('RELEASES has the line of the package that is offered (§21.2)', async () => {
      const tenant = await serving(['1.0.0', [nupkg('1.0.0')]]);
      const fragment = nupkg('1.1.0', { url: `${at('Notes-1.1.0-full.nupkg')}#x64` });
      await put(tenant, '1.1.0', [fragment, artifact('windows', 'Notes-setup.exe')]);
      const answer = await file(tenant, '1.0.0');
      expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8');
      expect(answer.text).toBe(`${SHA1.toUpperCase()} ${at('Notes-1.1.0-full.nupkg')} 1234\n`);
      const [, , name = ''] = RELEASE_ENTRY.exec(answer.text.trimEnd()) ?? [];
      expect(PACKAGE_VERSION.exec(name)?.[1]).toBe('1.1.0');
    });

    it('offered nothing, a device gets the line of its own version unless it was rolled back (§21.2)', async () => {
      const tenant = await serving(['1.0.0', [nupkg('1.0.0')]], ['1.1.0', [nupkg('1.1.0')]]);
      expect((await file(tenant, '1.1.0')).text).toContain('Notes-1.1.0-full.nupkg');
      for (const status of ['paused', 'deprecated']) {
        await serve(node, tenant, '1.1.0', { status });
        expect((await file(tenant, '1.1.0')).text).toContain('Notes-1.1.0-full.nupkg');
      }
      await serve(node, tenant, '1.1.0', { status: 'rolled_back' });
      expect((await file(tenant, '1.1.0')).text).toContain('Notes-1.0.0-full.nupkg');
      await serve(node, tenant, '1.0.0', { status: 'paused' });
      const nothing = await file(tenant, '1.1.0');
      expect([nothing.status, nothing.text]).toEqual([200, '']);
      const unknown = await file(tenant, '9.9.9');
      expect([unknown.status, unknown.text]).toEqual([200, '']);
    });

    it('a package without its sum or size is passed over (§21.2)', async () => {
      const tenant = await serving(['1.0.0', [nupkg('1.0.0')]]);
      const { sha1: _, ...unsummed } = nupkg('1.1.0');
      const { size: __, ...unsized } = nupkg('1.1.0');
      await put(tenant, '1.1.0', [unsummed, unsized]);
      expect((await file(tenant, '0.9.0')).text).toContain('Notes-1.0.0-full.nupkg');
    });
  });

  describe('Velopack', () => {
    const feed = (tenant: Tenant, name: string, query = '', headers: Record<string, string> = {}) =>
      get(`/velopack/${tenant.app}/stable/releases.${name}.json${query}`, headers);
    const assets = async (answer: Promise<Answer>) => {
      const { status: code, body, text } = await answer;
      expect(code, text).toBe(200);
      return (body as { Assets: Fields[] }).Assets;
    };

    it('the feed has the package that is offered, or none (§21.3)', async () => {
      const tenant = await serving(['1.1.0', [nupkg('1.1.0')], { notes: '# Better' }]);
      expect(await assets(feed(tenant, 'win', '?localVersion=1.0.0&id=Notes'))).toEqual([
        {
          PackageId: 'Notes',
          Version: '1.1.0',
          Type: 'Full',
          FileName: 'Notes-1.1.0-full.nupkg',
          SHA1: SHA1.toUpperCase(),
          SHA256: SHA256.toUpperCase(),
          Size: 1234,
          NotesMarkdown: '# Better',
        },
      ]);
      expect(await assets(feed(tenant, 'win', '?localVersion=1.1.0'))).toEqual([]);
      // Without a version the client compares.
      expect(await assets(feed(tenant, 'win'))).toMatchObject([{ PackageId: tenant.app }]);
      expect(await assets(feed(tenant, 'win-arm64'))).toEqual([]);
      expect(await assets(feed(tenant, 'linux'))).toEqual([]);
    });

    it('the machine is told by rid, os and arch, or the name (§21.3)', async () => {
      const tenant = await createTenant(node);
      const mac = (arch: string | undefined, name: string) => ({
        ...nupkg('1.1.0'),
        platform: 'darwin',
        url: at(`${name}-full.nupkg`),
        arch,
      });
      const artifacts = [nupkg('1.1.0'), mac('arm64', 'arm'), mac('x64', 'intel')];
      await put(tenant, '1.1.0', artifacts);
      const nameOf = async (name: string, query = '') =>
        (await assets(feed(tenant, name, query))).map(({ FileName }) => FileName);
      expect(await nameOf('osx')).toEqual(['intel-full.nupkg']);
      expect(await nameOf('osx-arm64')).toEqual(['arm-full.nupkg']);
      expect(await nameOf('beta', '?rid=osx.13-arm64')).toEqual(['arm-full.nupkg']);
      expect(await nameOf('beta', '?rid=win10-x64')).toEqual(['Notes-1.1.0-full.nupkg']);
      expect(await nameOf('beta', '?os=osx&arch=arm64')).toEqual(['arm-full.nupkg']);
      expect(await nameOf('win', '?os=osx&arch=x64')).toEqual(['intel-full.nupkg']);
      await put(tenant, '1.2.0', [
        mac(undefined, 'any'),
        mac('universal', 'both'),
        mac('x64', 'x'),
      ]);
      expect(await nameOf('osx')).toEqual(['both-full.nupkg']);
      expect(await nameOf('win', '?localVersion=&id=&rid=&os=&arch=')).toEqual([
        'Notes-1.1.0-full.nupkg',
      ]);
    });

    it('packages without size or sum, and versions with four parts, are passed over (§21.3)', async () => {
      const tenant = await createTenant(node);
      const { sha1: _, ...one } = nupkg('1.0.0');
      const { sha1: __, sha256: ___, ...none } = nupkg('1.1.0');
      await put(tenant, '1.0.0', [one]);
      await put(tenant, '1.1.0', [none]);
      await put(tenant, '1.2.0.1', [nupkg('1.2.0')]);
      const [only] = await assets(feed(tenant, 'win', '?localVersion=0.9.0'));
      expect(only).toMatchObject({ Version: '1.0.0', SHA256: SHA256.toUpperCase() });
      expect(only).not.toHaveProperty('SHA1');
    });

    it('a client is a device by its staging id, after header and device (§21.3)', async () => {
      const tenant = await serving(['1.1.0', [nupkg('1.1.0')]]);
      await feed(tenant, 'win', '?localVersion=1.0.0&stagingId=staging');
      await feed(tenant, 'win', '?localVersion=1.0.1&stagingId=no&device=query');
      await feed(tenant, 'win', '?localVersion=1.0.2&stagingId=no&device=no', {
        'X-Service-Device': 'header',
      });
      const expected = { staging: '1.0.0', query: '1.0.1', header: '1.0.2' };
      await eventually('the devices are on record', async () => {
        const found = (await devicesOf(node, tenant)).map(({ deviceId, version }) => [
          deviceId,
          version,
        ]);
        return JSON.stringify(found.sort()) === JSON.stringify(Object.entries(expected).sort());
      });
    });

    it('a package beside the feed leads to where it is published (§21.3)', async () => {
      const tenant = await serving(
        ['1.0.0', [nupkg('1.0.0', { url: 'https://old.example.com/My%20Notes.nupkg' })]],
        ['1.1.0', [nupkg('1.1.0', { url: 'https://new.example.com/My%20Notes.nupkg' })]],
      );
      await put(
        tenant,
        '1.2.0',
        [nupkg('1.2.0', { url: 'https://x.example.com/My%20Notes.nupkg' })],
        {
          status: 'paused',
        },
      );
      const ask = (name: string) =>
        fetch(`${node.url}/velopack/${tenant.app}/stable/${name}`, { redirect: 'manual' });
      const answer = await ask('My%20Notes.nupkg');
      expect([answer.status, answer.headers.get('location')]).toEqual([
        302,
        'https://new.example.com/My%20Notes.nupkg',
      ]);
    });
  });

  describe('update files for one arch', () => {
    it('count and list only what a client of that arch installs (§16.12)', async () => {
      const tenant = await createTenant(node);
      const exe = (arch: string) =>
        artifact('windows', `Notes-${arch}.exe`, { arch, sha512: 'x', size: 1 });
      await put(tenant, '1.0.0', [exe('x64'), exe('arm64')]);
      const newer = {
        ...exe('x64'),
        url: at('Notes-2-x64.exe'),
        minimumSystemVersion: '10.0.17763',
      };
      await put(tenant, '1.1.0', [newer]);
      const read = async (address: string) => {
        const answer = await get(`/e/${tenant.app}/stable/${address}`);
        expect(answer.status, answer.text).toBe(200);
        return load(answer.text) as Fields & { files: Fields[] };
      };
      expect(await read('latest.yml')).toMatchObject({ version: '1.1.0' });
      expect(await read('x64/latest.yml')).toMatchObject({
        version: '1.1.0',
        minimumSystemVersion: '10.0.17763',
      });
      const arm = await read('arm64/latest.yml');
      expect(arm).toMatchObject({ version: '1.0.0', files: [{ url: at('Notes-arm64.exe') }] });
      expect(arm).not.toHaveProperty('minimumSystemVersion');
      const linux = (arch: string) =>
        artifact('linux', `Notes-${arch}.AppImage`, { arch, sha512: 'x' });
      await put(tenant, '1.2.0', [linux('armv7'), linux('x64'), linux('arm64')]);
      expect((await read('armv7l/latest-linux.yml')).files).toMatchObject([
        { url: at('Notes-armv7.AppImage') },
      ]);
      expect((await read('x64/latest-linux-arm64.yml')).files).toMatchObject([
        { url: at('Notes-arm64.AppImage') },
      ]);
    });
  });

  describe('downloads for people', () => {
    const download = (tenant: Tenant, path: string, agent = 'curl/8') =>
      fetch(`${node.url}/download/${tenant.app}/stable${path}`, {
        redirect: 'manual',
        headers: { 'User-Agent': agent },
      });
    const nameIn = ({ status, headers }: Response) =>
      status === 302 ? headers.get('location')?.split('/').at(-1) : status;
    const nameOf = async (tenant: Tenant, path: string) => nameIn(await download(tenant, path));

    it('lead to the highest release that everybody may have (§22)', async () => {
      const tenant = await createTenant(node);
      const dmg = (name: string) => [artifact('darwin', name)];
      await put(tenant, '1.0.0', dmg('1.dmg'));
      await put(tenant, '1.1.0', dmg('2.dmg'), { rollout: 99 });
      await put(tenant, '1.2.0', dmg('3.dmg'), { targets: { matchLabels: { ring: ['a'] } } });
      await put(tenant, '1.3.0', dmg('4.dmg'), { status: 'paused' });
      await put(tenant, '1.4.0', [artifact('windows', '5.msi')]);
      const answer = await download(tenant, '/macOS');
      expect([
        answer.status,
        answer.headers.get('location'),
        answer.headers.get('cache-control'),
      ]).toEqual([302, at('1.dmg'), 'public, max-age=60']);
      // An empty targeting is as none (§2.3).
      await serve(node, tenant, '1.2.0', { targets: {} });
      expect(await nameOf(tenant, '/darwin')).toBe('3.dmg');
      await serve(node, tenant, '1.2.0', { status: 'paused' });
      await serve(node, tenant, '1.0.0', { rollout: 50 });
      expect(await nameOf(tenant, '/darwin')).toBe(404);
    });

    it('by format and arch: arch goes before format (§22)', async () => {
      const tenant = await serving([
        '1.0.0',
        [
          artifact('darwin', 'a.zip', { arch: 'universal' }),
          artifact('darwin', 'b.dmg', { arch: 'x64' }),
          artifact('darwin', 'c.dmg', { arch: 'arm64' }),
          artifact('windows', 'd.msi'),
          artifact('windows', 'e-setup.exe'),
          artifact('linux', 'f.tar.gz', { arch: 'x64' }),
          artifact('linux', 'g.rpm', { arch: 'x64' }),
          artifact('linux', 'h.deb', { arch: 'x64' }),
          artifact('linux', 'i.AppImage', { arch: 'arm64' }),
          { platform: 'linux', format: 'appimage' },
          artifact('freebsd', 'j.zip'),
          artifact('freebsd', 'k.zip', { arch: 'x64' }),
          artifact('freebsd', 'l.zip', { arch: 'arm64' }),
          artifact('openbsd', 'm'),
          artifact('openbsd', 'n.tgz.dgst'),
          artifact('openbsd', 'o.tar.gz'),
        ],
      ]);
      const expected: readonly (readonly [string, string | number])[] = [
        ['/darwin', 'a.zip'],
        ['/darwin?format=dmg', 'b.dmg'],
        ['/darwin/arm64', 'c.dmg'],
        ['/darwin/x86_64?format=', 'b.dmg'],
        ['/darwin/riscv64', 'a.zip'],
        ['/windows', 'e-setup.exe'],
        ['/win32/x64?format=MSI', 'd.msi'],
        ['/linux', 'h.deb'],
        ['/linux?format=rpm', 'g.rpm'],
        ['/linux/aarch64', 'i.AppImage'],
        ['/linux/aarch64?format=deb', 404],
        // A file that names its architecture goes before one that names none, a known format before none.
        ['/freebsd', 'k.zip'],
        ['/freebsd/arm64', 'l.zip'],
        ['/freebsd/riscv64', 'j.zip'],
        ['/openbsd', 'o.tar.gz'],
        ['/netbsd', 404],
      ];
      for (const [path, name] of expected)
        expect([path, await nameOf(tenant, path)]).toEqual([path, name]);
    });

    it('without a platform lead to the one that the browser tells (§22)', async () => {
      const names = { windows: 'a.exe', darwin: 'b.dmg', linux: 'c.AppImage' };
      const artifacts = Object.entries(names).map(([platform, name]) => artifact(platform, name));
      const tenant = await serving(['1.0.0', artifacts]);
      for (const [agent, name] of [
        ['Mozilla/5.0 (Windows NT 10.0; Win64; x64)', 'a.exe'],
        ['Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)', 'b.dmg'],
        ['Mozilla/5.0 (X11; Linux x86_64)', 'c.AppImage'],
        ['Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X)', 404],
        ['Mozilla/5.0 (Linux; Android 14)', 404],
        ['curl/8.5.0', 404],
      ] as const) {
        const answer = await download(tenant, '', agent);
        expect(answer.headers.get('vary')).toContain('User-Agent');
        expect([agent, nameIn(answer)]).toEqual([agent, name]);
      }
    });

    it('without a platform lead to the architecture that a browser on Linux tells (§22)', async () => {
      const arches = ['x64', 'arm64', 'armhf', 'i386'];
      const linux = arches.map((arch) => artifact('linux', `${arch}.AppImage`, { arch }));
      const tenant = await serving(['1.0.0', linux]);
      for (const [agent, name] of [
        ['Mozilla/5.0 (X11; Linux aarch64; rv:140.0) Gecko/20100101 Firefox/140.0', 'arm64'],
        ['Mozilla/5.0 (X11; Ubuntu; Linux aarch64; rv:140.0) Gecko/20100101', 'arm64'],
        ['Mozilla/5.0 (X11; Linux armv7l) AppleWebKit/537.36', 'armhf'],
        ['Mozilla/5.0 (X11; Linux armv8l; rv:128.0)', 'armhf'],
        ['Mozilla/5.0 (X11; Linux i686; rv:128.0)', 'i386'],
        ['Mozilla/5.0 (X11; Linux i686 on x86_64; rv:128.0)', 'x64'],
        ['Mozilla/5.0 (X11; Linux x86_64)', 'x64'],
        ['something/1.0 (Linux 6.8.0-31-generic)', 'x64'],
        ['Lynx/2.9 Linux', 'x64'],
      ] as const) {
        const answer = await download(tenant, '', agent);
        expect([agent, nameIn(answer)]).toEqual([agent, `${name}.AppImage`]);
      }
      // What the machine cannot run is no download, but some browsers say x86_64 everywhere.
      const [, arm = {}] = linux;
      await put(tenant, '1.1.0', [arm]);
      expect(nameIn(await download(tenant, '', 'Mozilla/5.0 (X11; Linux i686)'))).toBe(
        'i386.AppImage',
      );
      expect(nameIn(await download(tenant, '', 'Mozilla/5.0 (X11; Linux riscv64)'))).toBe(404);
      expect(nameIn(await download(tenant, '', 'Mozilla/5.0 (X11; Linux x86_64)'))).toBe(
        'arm64.AppImage',
      );
    });

    it('for a browser have a page in words where there is no file, with those that there are (§22)', async () => {
      const tenant = await serving([
        '1.0.0',
        [
          artifact('windows', 'a.exe', { arch: 'x64' }),
          artifact('windows', 'a-delta.nupkg', { arch: 'x64' }),
          artifact('darwin', 'b.dmg', { arch: 'universal' }),
          artifact('<b>"&', 'c.tar.gz'),
        ],
      ]);
      const browse = (path: string, agent = 'Mozilla/5.0 (X11; Linux x86_64)') =>
        fetch(`${node.url}/download/${tenant.app}/${path}`, {
          redirect: 'manual',
          headers: { 'User-Agent': agent, Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' },
        });
      const links = async (answer: Response) =>
        [...(await answer.text()).matchAll(/href="([^"]*)">([^<]*)</g)].map(([, to = '', name]) => {
          const { pathname, search } = new URL(to.replaceAll('&amp;', '&'), answer.url);
          return `${pathname}${search} ${name}`;
        });
      const listed = [
        'windows/x86_64?format=exe Windows, x86_64, exe',
        'darwin/universal?format=dmg macOS, universal, dmg',
        '%3Cb%3E%22%26?format=tar.gz &lt;b&gt;&quot;&amp;, tar.gz',
      ].map((each) => `/download/${tenant.app}/stable/${each}`);
      for (const path of [
        'stable',
        'stable/linux',
        'stable/linux/arm64',
        'stable/darwin/arm64?format=pkg',
      ]) {
        const answer = await browse(path);
        expect([path, answer.status]).toEqual([path, 404]);
        expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
        expect(answer.headers.get('content-security-policy')).toMatch(/^default-src 'none'/);
        expect(answer.headers.get('cache-control')).toBe('no-store');
        expect(answer.headers.get('vary')).toContain('Accept');
        expect(await links(answer)).toEqual(listed);
      }
      const text = await (await browse('stable')).text();
      expect(text).toContain('<p>There is no file for Linux that is asked for.</p>');
      expect(text).not.toMatch(/<(?:script|img|link|style|b)\b|src=/);
      expect(await (await browse('stable', 'Unheard-of/1.0')).text()).toContain(
        '<p>Your browser does not tell what your device is.</p>',
      );
      const nothing = await browse('%3Cscript%3E');
      expect([nothing.status, await nothing.text()]).toEqual([
        404,
        expect.stringContaining('<p>There is no download at this address: Unknown channel.</p>'),
      ]);
      const [first = ''] = listed;
      expect(nameIn(await fetch(node.url + first.split(' ')[0], { redirect: 'manual' }))).toBe(
        'a.exe',
      );
      const machine = await get(`/download/${tenant.app}/stable/linux`);
      expectError(machine, 404, 'No download');
    });

    it('are neither offers nor check-ins (§22)', async () => {
      const tenant = await serving(['1.0.0', [artifact('linux', 'a.AppImage')]]);
      expectError(await get(`/download/${tenant.app}/stable/darwin`), 404, 'No download');
      expect(await nameOf(tenant, '/linux')).toBe('a.AppImage');
      await serve(node, tenant, '1.0.0', { rollout: 5 });
    });
  });
});
