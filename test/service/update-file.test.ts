// Tests the rules of electron-updater's files (docs/contract.md 4.8 and 16), read by the client's YAML
// parser.

import { randomUUID } from 'node:crypto';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { deviceSuiteOnce } from '../support/service-suite.ts';
import {
  type Answer,
  admin,
  check,
  control,
  createTenant,
  devicesOf,
  publish,
  send,
  type Tenant,
} from '../support/tenant.ts';

type UpdateFile = {
  version: string;
  files: { url: string; sha512: string; size?: number }[];
  path: string;
  sha512: string;
  releaseDate: string;
  releaseNotes?: string;
};
type Options = {
  channel?: string;
  query?: string;
  method?: string;
  headers?: Record<string, string>;
};

const SUM = 'a'.repeat(86).concat('==');
const FILES = [
  'latest.yml',
  'latest-mac.yml',
  'latest-linux.yml',
  'latest-linux-arm64.yml',
  'latest-linux-arm.yml',
  'latest-linux-ia32.yml',
];

function artifact(platform: string, arch: string | undefined, name: string, more = {}) {
  const url = `https://downloads.example.com/${name}`;
  return { platform, ...(arch === undefined ? {} : { arch }), url, sha512: SUM, ...more };
}

const WINDOWS = artifact('windows', 'x64', 'app.exe', { size: 5 });

deviceSuiteOnce('update files', (node) => {
  function ask(tenant: Pick<Tenant, 'app'>, file: string, options: Options = {}): Promise<Answer> {
    const { channel = 'stable', query, method = 'GET', headers = {} } = options;
    const path = `/e/${tenant.app}/${channel}/${file}${query === undefined ? '' : `?${query}`}`;
    return send(node, method, path, { headers });
  }

  async function read(tenant: Tenant, file = 'latest.yml', options?: Options): Promise<UpdateFile> {
    const answer = await ask(tenant, file, options);
    expect(answer.status, answer.text).toBe(200);
    return load(answer.text) as UpdateFile;
  }

  async function names(tenant: Tenant, file: string): Promise<string[]> {
    return (await read(tenant, file)).files.map(({ url }) => url.split('/').at(-1) ?? '');
  }

  async function tenantWith(...releases: [string, Record<string, unknown>][]): Promise<Tenant> {
    const tenant = await createTenant(node);
    for (const [version, more] of releases) {
      const answer = await publish(node, tenant, version, { artifacts: [WINDOWS], ...more });
      expect(answer.status, answer.text).toBe(201);
    }
    return tenant;
  }

  describe('names', () => {
    it.each(FILES)('%s is served, and so is the channel’s own name for it', async (file) => {
      const artifacts = [
        artifact('windows', undefined, 'a.exe'),
        artifact('darwin', undefined, 'a.zip'),
        artifact('linux', undefined, 'a.AppImage'),
      ];
      const tenant = await tenantWith();
      await publish(node, tenant, '1.0.0', { artifacts, channel: 'beta' });
      for (const name of [file, file.replace('latest', 'beta')]) {
        const answer = await ask(tenant, name, { channel: 'beta' });
        expect(answer.status, name).toBe(200);
        expect(answer.headers.get('content-type')).toBe('text/yaml; charset=utf-8');
      }
    });

    it.each(['stable.txt', 'beta.yml', 'latest', 'latest-linux-x64.yml', 'LATEST.yml', 'x%00.yml'])(
      '%s is 404 Unknown file',
      async (file) => {
        const tenant = await tenantWith(['1.0.0', {}]);
        const answer = await ask(tenant, file);
        expect([answer.status, answer.body]).toEqual([404, { error: 'Unknown file' }]);
      },
    );

    it('latest-mac.yml is for macOS even on a channel of that name', async () => {
      const tenant = await tenantWith();
      const channel = 'latest-mac';
      await admin(node, 'POST', 'channels', { app: tenant.app, name: channel });
      const artifacts = [WINDOWS, artifact('darwin', undefined, 'a.zip')];
      await publish(node, tenant, '1.0.0', { artifacts, channel });
      const { path } = await read(tenant, 'latest-mac.yml', { channel });
      expect(path).toBe('https://downloads.example.com/a.zip');
    });

    it('the app is named by its ref or by its id', async () => {
      const tenant = await tenantWith(['1.0.0', {}]);
      const [byRef, byId] = [
        await ask(tenant, 'latest.yml'),
        await ask({ app: tenant.appId }, 'latest.yml'),
      ];
      expect([byId.status, byId.text]).toEqual([200, byRef.text]);
    });

    it('query parameters other than labels are ignored, as noCache, which every client sends', async () => {
      const tenant = await tenantWith(['1.0.0', {}]);
      const { text } = await ask(tenant, 'latest.yml');
      for (const query of ['noCache=1j8u3k2', 'a&b=%ZZ&=&noCache=1&noCache=2', 'label.x=1', '']) {
        const answer = await ask(tenant, 'latest.yml', { query });
        expect([query, answer.status, answer.text]).toEqual([query, 200, text]);
      }
    });

    it('an unknown app or channel is 404 and says which', async () => {
      const tenant = await tenantWith(['1.0.0', {}]);
      const app = await ask({ app: 'nobody' }, 'latest.yml');
      expect([app.status, app.body]).toEqual([404, { error: 'Unknown app' }]);
      const channel = await ask(tenant, 'latest.yml', { channel: 'nightly' });
      expect([channel.status, channel.body]).toEqual([404, { error: 'Unknown channel' }]);
    });

    it('malformed percent-encoding is 400 and names the segment', async () => {
      const answer = await send(node, 'GET', '/e/app/%ZZ/latest.yml');
      expect([answer.status, answer.body]).toEqual([
        400,
        { error: 'channel: Malformed percent-encoding' },
      ]);
    });

    it('another method is 405, another path 404', async () => {
      const tenant = await tenantWith(['1.0.0', {}]);
      expect((await ask(tenant, 'latest.yml', { method: 'POST' })).status).toBe(405);
      expect((await ask(tenant, 'latest.yml/more')).status).toBe(404);
    });
  });

  describe('the layout', () => {
    it('has the version, the files with checksum and size, the first of them on top, and the date', async () => {
      const tenant = await tenantWith(['1.0.0', { notes: 'Hello' }]);
      const file = await read(tenant);
      expect(file).toEqual({
        version: '1.0.0',
        files: [{ url: WINDOWS.url, sha512: SUM, size: 5 }],
        path: WINDOWS.url,
        sha512: SUM,
        releaseNotes: 'Hello',
        releaseDate: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      });
    });

    it.each([
      ['v1.2', '1.2.0'],
      ['2026.01.15', '2026.1.15'],
      ['1.2.3-beta.1+5', '1.2.3-beta.1+5'],
    ])('version %s is written as SemVer: %s', async (version, expected) => {
      const tenant = await tenantWith([version, {}]);
      expect((await read(tenant)).version).toBe(expected);
    });

    it('a version with a fourth part, which no client could read, falls through', async () => {
      const tenant = await tenantWith(['1.0.0', {}], ['2.0.0.1', {}]);
      expect((await read(tenant)).version).toBe('1.0.0');
    });

    it('a checksum in hex becomes base64, one in base64 stays', async () => {
      const hex = '00'.repeat(64);
      const artifacts = [{ ...WINDOWS, sha512: hex }, artifact('windows', 'arm64', 'arm64.exe')];
      const { files } = await read(await tenantWith(['1.0.0', { artifacts }]));
      const base64 = Buffer.alloc(64).toString('base64');
      expect(files.map(({ sha512 }) => sha512)).toEqual([base64, SUM]);
    });

    it('never has a stagingPercentage: who is in was decided here', async () => {
      const tenant = await tenantWith(['1.0.0', { rollout: 50 }]);
      for (let device = 0; device < 20; device++) {
        const headers = { 'x-service-device': `device-${device}` };
        expect((await ask(tenant, 'latest.yml', { headers })).text).not.toContain('staging');
      }
    });
  });

  describe('the choice of files', () => {
    it('leaves out what has no checksum or no address', async () => {
      const { sha512: _, ...bare } = WINDOWS;
      const artifacts = [
        bare,
        { platform: 'windows', sha512: SUM },
        artifact('windows', 'arm64', 'arm64.exe'),
      ];
      expect(await names(await tenantWith(['1.0.0', { artifacts }]), 'latest.yml')).toEqual([
        'arm64.exe',
      ]);
    });

    it('lists what runs on every arch first, then x64, others, and arm64 last', async () => {
      const artifacts = [
        artifact('windows', 'aarch64', 'arm64.exe'),
        artifact('windows', 'i686', 'ia32.exe'),
        artifact('windows', 'x86_64', 'x64.exe'),
        artifact('windows', undefined, 'all.exe'),
        artifact('mac', 'arm64', 'arm64.zip'),
        artifact('osx', 'universal', 'universal.zip'),
        artifact('darwin', 'amd64', 'x64.zip'),
      ];
      const tenant = await tenantWith(['1.0.0', { artifacts }]);
      const windows = ['all.exe', 'x64.exe', 'ia32.exe', 'arm64.exe'];
      expect(await names(tenant, 'latest.yml')).toEqual(windows);
      expect(await names(tenant, 'latest-mac.yml')).toEqual([
        'universal.zip',
        'x64.zip',
        'arm64.zip',
      ]);
    });

    it('lists an installer before a portable build of the same arch, and no arch before another', async () => {
      const artifacts = [
        artifact('windows', undefined, 'App.1.0.0.exe'),
        artifact('windows', 'x64', 'App.1.0.0-x64.exe'),
        artifact('windows', 'x64', 'App_1.0.0_x64-setup.exe'),
        artifact('windows', undefined, 'App%20Setup%201.0.0.exe'),
      ];
      const tenant = await tenantWith(['1.0.0', { artifacts }]);
      expect(await names(tenant, 'latest.yml')).toEqual([
        'App%20Setup%201.0.0.exe',
        'App.1.0.0.exe',
        'App_1.0.0_x64-setup.exe',
        'App.1.0.0-x64.exe',
      ]);
    });

    it('a Linux file has its own arch, then what runs on several, and no other', async () => {
      const artifacts = [
        artifact('linux', undefined, 'all.AppImage'),
        artifact('linux', 'arm64', 'arm64.AppImage'),
        artifact('linux', 'armv7', 'arm.AppImage'),
        artifact('linux', 'ia32', 'ia32.deb'),
        artifact('linux', 'x64', 'x64.rpm'),
      ];
      const tenant = await tenantWith(['1.0.0', { artifacts }]);
      expect(await names(tenant, 'latest-linux.yml')).toEqual(['x64.rpm', 'all.AppImage']);
      expect(await names(tenant, 'latest-linux-arm64.yml')).toEqual([
        'arm64.AppImage',
        'all.AppImage',
      ]);
      expect(await names(tenant, 'latest-linux-arm.yml')).toEqual(['arm.AppImage', 'all.AppImage']);
      expect(await names(tenant, 'latest-linux-ia32.yml')).toEqual(['ia32.deb', 'all.AppImage']);
    });

    it('leaves out formats that no updater of the platform installs', async () => {
      const artifacts = [
        artifact('windows', 'x64', 'app.msi'),
        artifact('windows', 'x64', 'app.exe'),
        artifact('darwin', 'x64', 'app.dmg'),
        artifact('darwin', 'x64', 'app.zip'),
        artifact('darwin', 'x64', 'app.pkg'),
        artifact('linux', 'x64', 'app.tar.gz'),
        artifact('linux', 'x64', 'app.snap'),
      ];
      const tenant = await tenantWith(['1.0.0', { artifacts }]);
      expect(await names(tenant, 'latest.yml')).toEqual(['app.exe']);
      expect(await names(tenant, 'latest-mac.yml')).toEqual(['app.zip']);
      expect((await ask(tenant, 'latest-linux.yml')).body).toEqual({ error: 'No release offered' });
    });

    it('takes an address that tells no format when there is nothing better', async () => {
      const unnamed = artifact('windows', 'x64', 'download/42');
      const alone = await tenantWith(['1.0.0', { artifacts: [unnamed] }]);
      expect(await names(alone, 'latest.yml')).toEqual(['42']);
      const beside = await tenantWith(['1.0.0', { artifacts: [unnamed, WINDOWS] }]);
      expect(await names(beside, 'latest.yml')).toEqual(['app.exe']);
    });
  });

  describe('the release', () => {
    it('is the highest that has a file for the platform, whatever the client runs', async () => {
      const mac = artifact('darwin', 'arm64', 'arm64.zip');
      const tenant = await tenantWith(
        ['1.0.0', {}],
        ['3.0.0', { artifacts: [mac] }],
        ['2.0.0', {}],
      );
      expect((await read(tenant)).version).toBe('2.0.0');
      expect((await read(tenant, 'latest-mac.yml')).version).toBe('3.0.0');
      expect((await ask(tenant, 'latest-linux.yml')).status).toBe(404);
    });

    it.each(['paused', 'deprecated', 'rolled_back'])('is never one that is %s', async (status) => {
      const tenant = await tenantWith(['1.0.0', {}], ['2.0.0', {}]);
      expect((await read(tenant)).version).toBe('2.0.0');
      expect((await control(node, tenant, '2.0.0', { status })).status).toBe(200);
      expect((await read(tenant)).version).toBe('1.0.0');
    });

    it('is 404 No release offered when none is eligible, and no cache may keep that', async () => {
      const tenant = await tenantWith(['1.0.0', { rollout: 0 }]);
      const answer = await ask(tenant, 'latest.yml');
      expect([answer.status, answer.body]).toEqual([404, { error: 'No release offered' }]);
      expect(answer.headers.get('cache-control')).toBe('no-store');
    });

    it('$platform is the file’s, $arch only where the file names one, $version never resolves', async () => {
      const targets = (key: string, operator: string, values: string[]) => ({
        matchLabels: {},
        matchExpressions: [{ key, operator, values }],
      });
      const artifacts = [
        WINDOWS,
        artifact('linux', 'x64', 'a.deb'),
        artifact('linux', 'arm64', 'b.deb'),
      ];
      const versionFor = async (key: string, operator: string, values: string[], file: string) => {
        const tenant = await tenantWith([
          '1.0.0',
          { artifacts, targets: targets(key, operator, values) },
        ]);
        return (await ask(tenant, file)).status;
      };
      expect(await versionFor('$platform', 'In', ['win32'], 'latest.yml')).toBe(200);
      expect(await versionFor('$platform', 'In', ['win32'], 'latest-linux.yml')).toBe(404);
      expect(await versionFor('$arch', 'In', ['x64'], 'latest-linux.yml')).toBe(200);
      expect(await versionFor('$arch', 'In', ['x64'], 'latest-linux-arm64.yml')).toBe(404);
      expect(await versionFor('$arch', 'Exists', [], 'latest.yml')).toBe(404);
      expect(await versionFor('$version', 'VersionLt', ['9.0.0'], 'latest.yml')).toBe(404);
      expect(await versionFor('$version', 'DoesNotExist', [], 'latest.yml')).toBe(200);
    });
  });

  describe('the device', () => {
    it('is X-Service-Device, else x-user-staging-id, in the cohort it has on /u', async () => {
      const tenant = await tenantWith(['1.0.0', {}], ['2.0.0', { rollout: 50 }]);
      for (let index = 0; index < 40; index++) {
        const device = randomUUID();
        const options = { platform: 'windows', arch: 'x64', device };
        const { body } = await check(node, tenant, '1.0.0', options);
        const expected = body?.version ?? '1.0.0';
        for (const headers of [
          { 'x-service-device': device },
          { 'x-user-staging-id': device },
          { 'x-service-device': device, 'x-user-staging-id': randomUUID() },
        ]) {
          expect((await read(tenant, 'latest.yml', { headers })).version).toBe(expected);
        }
      }
    });

    it('without either only a release at 100 % is eligible', async () => {
      const tenant = await tenantWith(['1.0.0', {}], ['2.0.0', { rollout: 99 }]);
      for (const headers of [
        {},
        { 'x-service-device': '' },
        { 'x-user-staging-id': 'x'.repeat(129) },
      ]) {
        expect((await read(tenant, 'latest.yml', { headers })).version).toBe('1.0.0');
      }
    });

    it('checks in with an unknown version, which never overwrites a known one', async () => {
      const tenant = await tenantWith(['1.0.0', {}]);
      const [fresh, known] = [randomUUID(), randomUUID()];
      await check(node, tenant, '0.5.0', { platform: 'windows', arch: 'x64', device: known });
      const deviceOf = async (device: string) =>
        (await admin(node, 'GET', `device?app=${tenant.app}&deviceId=${device}`)).body;
      await eventually('it is stored', async () => (await deviceOf(known)) !== undefined);
      for (const device of [fresh, known]) {
        await ask(tenant, 'latest.yml', { headers: { 'x-user-staging-id': device } });
      }
      const offered = async (device: string) =>
        ((await deviceOf(device))?.lastOffered as { version?: string } | null)?.version;
      await eventually('both were offered', async () =>
        [await offered(fresh), await offered(known)].every((version) => version === '1.0.0'),
      );
      expect(await deviceOf(fresh)).toMatchObject({
        version: null,
        platform: 'windows',
        source: 'pull',
      });
      expect(await deviceOf(known)).toMatchObject({ version: '0.5.0', platform: 'windows' });
    });

    it('labels decide, and are stored when the device is known', async () => {
      const targets = { matchLabels: { ring: ['early'] }, matchExpressions: [] };
      const tenant = await tenantWith(['1.0.0', {}], ['2.0.0', { targets }]);
      const query = 'noCache=1d2f&l.ring=early';
      expect((await read(tenant, 'latest.yml', { query })).version).toBe('2.0.0');
      expect((await read(tenant)).version).toBe('1.0.0');

      const headers = { 'x-user-staging-id': randomUUID() };
      expect((await read(tenant, 'latest.yml', { headers })).version).toBe('1.0.0');
      expect((await read(tenant, 'latest.yml', { headers, query })).version).toBe('2.0.0');
      expect((await read(tenant, 'latest.yml', { headers })).version).toBe('2.0.0');
    });

    it('labels without a device decide but are stored nowhere', async () => {
      const tenant = await tenantWith(['1.0.0', {}]);
      const headers = { 'x-user-staging-id': randomUUID() };
      await ask(tenant, 'latest.yml', { query: 'l.ring=nobody' });
      await ask(tenant, 'latest.yml', { query: 'l.ring=late', headers });
      await eventually('the identified one is stored', async () => {
        return (await devicesOf(node, tenant)).length > 0;
      });
      expect((await devicesOf(node, tenant)).map(({ deviceId }) => deviceId)).toEqual([
        headers['x-user-staging-id'],
      ]);
    });

    it('a label that could not be stored is 400 and names it', async () => {
      const tenant = await tenantWith(['1.0.0', {}]);
      const answer = await ask(tenant, 'latest.yml', { query: `l.k=${'x'.repeat(257)}` });
      expect(answer.status).toBe(400);
      expect(answer.body?.error).toContain('l.k');
    });
  });

  it('shows a release only after its offer is durable: it can no longer be narrowed', async () => {
    const tenant = await tenantWith(['1.0.0', { rollout: 100 }]);
    expect((await read(tenant)).version).toBe('1.0.0');
    const answer = await control(node, tenant, '1.0.0', { rollout: 50 });
    expect([answer.status, answer.body?.error]).toEqual([422, expect.stringContaining('100%')]);
  });

  it('has an ETag: 304 while it holds, 200 after a change; HEAD has the same headers', async () => {
    const tenant = await tenantWith(['1.0.0', {}]);
    const first = await ask(tenant, 'latest.yml');
    const etag = first.headers.get('etag') ?? '';
    expect(etag).toMatch(/^"[\w-]+"$/);
    expect(first.headers.get('cache-control')).toBe('private, no-cache');
    const headers = { 'if-none-match': etag };
    const again = await ask(tenant, 'latest.yml', { headers });
    expect([again.status, again.text, again.headers.get('etag')]).toEqual([304, '', etag]);
    const head = await ask(tenant, 'latest.yml', { method: 'HEAD' });
    expect([head.status, head.text, head.headers.get('etag')]).toEqual([200, '', etag]);
    expect(head.headers.get('content-length')).toBe(String(Buffer.byteLength(first.text)));
    await publish(node, tenant, '1.0.1', { artifacts: [WINDOWS] });
    expect((await ask(tenant, 'latest.yml', { headers })).status).toBe(200);
  });
});
