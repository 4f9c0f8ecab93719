// Tests the rules of electron-updater's files (docs/contract.md 4.8 and 16), read by the client's YAML
// parser.

import { randomUUID } from 'node:crypto';
import { load } from 'js-yaml';
import { describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { at, release, serve, tenantWith } from '../support/released.ts';
import { deviceSuite } from '../support/service-suite.ts';
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

type Fields = Record<string, unknown>;
type UpdateFile = Fields & {
  readonly version: string;
  readonly files: { url: string; sha512: string }[];
  readonly path: string;
};
type Options = {
  channel?: string;
  query?: string;
  method?: string;
  headers?: Record<string, string>;
};

const SUM = 'a'.repeat(86).concat('==');
const LINUX = ['latest-linux', 'latest-linux-arm64', 'latest-linux-arm', 'latest-linux-ia32'];
const FILES = ['latest.yml', 'latest-mac.yml', ...LINUX.map((name) => `${name}.yml`)];

function artifact(platform: string, arch: string | undefined, name: string, more: Fields = {}) {
  return { platform, ...(arch && { arch }), url: at(name), sha512: SUM, ...more };
}

const WINDOWS = artifact('windows', 'x64', 'app.exe', { size: 5 });
const artifacts = [WINDOWS];

deviceSuite('update files', (node) => {
  function ask(
    tenant: Pick<Tenant, 'app'>,
    file = 'latest.yml',
    { channel = 'stable', query, method = 'GET', headers = {} }: Options = {},
  ): Promise<Answer> {
    const path = `/e/${tenant.app}/${channel}/${file}${query === undefined ? '' : `?${query}`}`;
    return send(node, method, path, { headers });
  }

  async function read(tenant: Tenant, file?: string, options?: Options): Promise<UpdateFile> {
    const answer = await ask(tenant, file, options);
    expect(answer.status, answer.text).toBe(200);
    return load(answer.text) as UpdateFile;
  }

  async function versionIn(tenant: Tenant, file?: string, options?: Options): Promise<string> {
    return (await read(tenant, file, options)).version;
  }

  async function names(tenant: Tenant, file = 'latest.yml'): Promise<string[]> {
    return (await read(tenant, file)).files.map(({ url }) => url.split('/').at(-1) ?? '');
  }

  describe('names', () => {
    it('every file is served, and so is the channel’s own name for it', async () => {
      const all = [
        artifact('windows', undefined, 'a.exe'),
        artifact('darwin', undefined, 'a.zip'),
        artifact('linux', undefined, 'a.AppImage'),
      ];
      const tenant = await tenantWith(node, ['1.0.0', { artifacts: all, channel: 'beta' }]);
      for (const name of FILES.flatMap((file) => [file, file.replace('latest', 'beta')])) {
        const answer = await ask(tenant, name, { channel: 'beta' });
        expect(answer.status, name).toBe(200);
        expect(answer.headers.get('content-type')).toBe('text/yaml; charset=utf-8');
      }
    });

    it('another name, app or channel is 404 and says which', async () => {
      const tenant = await tenantWith(node, ['1.0.0', { artifacts }]);
      const unknown = async (answer: Promise<Answer>, error: string) => {
        const { status, body } = await answer;
        expect([status, body]).toEqual([404, { error }]);
      };
      for (const file of ['stable.txt', 'beta.yml', 'latest', 'latest-linux-x64.yml', 'x%00.yml']) {
        await unknown(ask(tenant, file), 'Unknown file');
      }
      await unknown(ask(tenant, 'LATEST.yml'), 'Unknown file');
      await unknown(ask({ app: 'nobody' }), 'Unknown app');
      await unknown(ask(tenant, 'latest.yml', { channel: 'nightly' }), 'Unknown channel');
      await unknown(ask(tenant, 'latest.yml/more'), 'Unknown file');
      expect((await ask(tenant, 'latest.yml', { method: 'POST' })).status).toBe(405);
      const { status, body } = await send(node, 'GET', '/e/app/%ZZ/latest.yml');
      expect([status, body]).toEqual([400, { error: 'channel: Malformed percent-encoding' }]);
    });

    it('latest-mac.yml is for macOS even on a channel of that name', async () => {
      const tenant = await createTenant(node);
      const channel = 'latest-mac';
      await admin(node, 'POST', 'channels', { app: tenant.app, name: channel });
      const both = [WINDOWS, artifact('darwin', undefined, 'a.zip')];
      await release(node, tenant, '1.0.0', { artifacts: both, channel });
      expect((await read(tenant, 'latest-mac.yml', { channel })).path).toBe(at('a.zip'));
    });

    it('the app is named by its ref or its id; parameters other than labels are ignored', async () => {
      const tenant = await tenantWith(node, ['1.0.0', { artifacts }]);
      const { text } = await ask(tenant);
      expect((await ask({ app: tenant.appId })).text).toBe(text);
      for (const query of ['noCache=1j8u3k2', 'a&b=%ZZ&=&noCache=1&noCache=2', 'label.x=1', '']) {
        expect([query, (await ask(tenant, 'latest.yml', { query })).text]).toEqual([query, text]);
      }
    });
  });

  describe('the layout', () => {
    it('has the version, the files with checksum and size, the first of them on top, and the date', async () => {
      const file = await read(await tenantWith(node, ['1.0.0', { artifacts, notes: 'Hello' }]));
      expect(file).toEqual({
        version: '1.0.0',
        files: [{ url: WINDOWS.url, sha512: SUM, size: 5 }],
        path: WINDOWS.url,
        sha512: SUM,
        releaseNotes: 'Hello',
        releaseDate: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      });
    });

    it('versions are written as SemVer; a fourth part, which no client could read, falls through', async () => {
      const tenant = await createTenant(node);
      for (const [version, expected] of [
        ['v1.2', '1.2.0'],
        ['1.2.3-beta.1+5', '1.2.3-beta.1+5'],
        ['2026.01.15', '2026.1.15'],
        ['2027.0.0.1', '2026.1.15'],
      ] as const) {
        await release(node, tenant, version, { artifacts });
        expect(await versionIn(tenant)).toBe(expected);
      }
    });

    it('a checksum in hex becomes base64, one in base64 stays', async () => {
      const both = [
        { ...WINDOWS, sha512: '00'.repeat(64) },
        artifact('windows', 'arm64', 'arm64.exe'),
      ];
      const { files } = await read(await tenantWith(node, ['1.0.0', { artifacts: both }]));
      const base64 = Buffer.alloc(64).toString('base64');
      expect(files.map(({ sha512 }) => sha512)).toEqual([base64, SUM]);
    });
  });

  it.each<[rule: string, artifacts: Fields[], files: Record<string, string[]>]>([
    [
      'what has no checksum or no address is left out',
      [
        { platform: 'windows', url: at('bare.exe') },
        { platform: 'windows', sha512: SUM },
        artifact('windows', 'arm64', 'arm64.exe'),
      ],
      { 'latest.yml': ['arm64.exe'] },
    ],
    [
      'what runs on every arch is first, then x64, others, and arm64 last',
      [
        artifact('windows', 'aarch64', 'arm64.exe'),
        artifact('windows', 'i686', 'ia32.exe'),
        artifact('windows', 'x86_64', 'x64.exe'),
        artifact('windows', undefined, 'all.exe'),
        artifact('mac', 'arm64', 'arm64.zip'),
        artifact('osx', 'universal', 'universal.zip'),
        artifact('darwin', 'amd64', 'x64.zip'),
      ],
      {
        'latest.yml': ['all.exe', 'x64.exe', 'ia32.exe', 'arm64.exe'],
        'latest-mac.yml': ['universal.zip', 'x64.zip', 'arm64.zip'],
      },
    ],
    [
      'an installer comes before a portable build of the same arch, and no arch before another',
      ['App.1.0.0.exe', 'App.1.0.0-x64.exe', 'App_1.0.0_x64-setup.exe', 'App%20Setup%201.exe'].map(
        (name) => artifact('windows', name.includes('x64') ? 'x64' : undefined, name),
      ),
      {
        'latest.yml': [
          ...['App%20Setup%201.exe', 'App.1.0.0.exe'],
          ...['App_1.0.0_x64-setup.exe', 'App.1.0.0-x64.exe'],
        ],
      },
    ],
    [
      'a Linux file has its own arch, then what runs on several, and no other',
      [
        artifact('linux', undefined, 'all.AppImage'),
        artifact('linux', 'arm64', 'arm64.AppImage'),
        artifact('linux', 'armv7', 'arm.AppImage'),
        artifact('linux', 'ia32', 'ia32.deb'),
        artifact('linux', 'x64', 'x64.rpm'),
      ],
      {
        'latest-linux.yml': ['x64.rpm', 'all.AppImage'],
        'latest-linux-arm64.yml': ['arm64.AppImage', 'all.AppImage'],
        'latest-linux-arm.yml': ['arm.AppImage', 'all.AppImage'],
        'latest-linux-ia32.yml': ['ia32.deb', 'all.AppImage'],
      },
    ],
    [
      'formats that no updater of the platform installs are left out, also what tells no format',
      [
        artifact('windows', 'x64', 'app.msi'),
        artifact('windows', 'x64', 'download/42'),
        artifact('windows', 'x64', 'app.exe'),
        artifact('darwin', 'x64', 'app.dmg'),
        artifact('darwin', 'x64', 'app.zip'),
        artifact('darwin', 'x64', 'app.pkg'),
        artifact('linux', 'x64', 'app.tar.gz'),
        artifact('linux', 'x64', 'app.snap'),
      ],
      { 'latest.yml': ['app.exe'], 'latest-mac.yml': ['app.zip'], 'latest-linux.yml': [] },
    ],
    [
      'an address that tells no format is taken when there is nothing better',
      [artifact('windows', 'x64', 'download/42')],
      { 'latest.yml': ['42'] },
    ],
    [
      'an address with an ending that nothing is known to install is not',
      [artifact('windows', 'x64', 'app.exe.dgst'), artifact('darwin', 'x64', 'app.zip.hash')],
      { 'latest.yml': [], 'latest-mac.yml': [] },
    ],
  ])('%s', async (_, published, files) => {
    const tenant = await tenantWith(node, ['1.0.0', { artifacts: published }]);
    for (const [file, listed] of Object.entries(files)) {
      if (listed.length > 0) expect(await names(tenant, file)).toEqual(listed);
      else expect((await ask(tenant, file)).body).toEqual({ error: 'No release offered' });
    }
  });

  describe('the release', () => {
    it('is the highest published one that has a file for the platform, whatever the client runs', async () => {
      const mac = { artifacts: [artifact('darwin', 'arm64', 'arm64.zip')] };
      const tenant = await tenantWith(
        node,
        ['1.0.0', { artifacts }],
        ['3.0.0', mac],
        ['2.0.0', { artifacts }],
      );
      expect(await versionIn(tenant)).toBe('2.0.0');
      expect(await versionIn(tenant, 'latest-mac.yml')).toBe('3.0.0');
      expect((await ask(tenant, 'latest-linux.yml')).status).toBe(404);
      for (const status of ['paused', 'deprecated', 'rolled_back']) {
        await serve(node, tenant, '2.0.0', { status });
        expect(await versionIn(tenant)).toBe('1.0.0');
        if (status === 'rolled_back') break;
        await serve(node, tenant, '2.0.0', { status: 'published' });
        expect(await versionIn(tenant)).toBe('2.0.0');
      }
    });

    it('is 404 No release offered when none is eligible, and no cache may keep that', async () => {
      const { status, body, headers } = await ask(
        await tenantWith(node, ['1.0.0', { artifacts, rollout: 0 }]),
      );
      expect([status, body]).toEqual([404, { error: 'No release offered' }]);
      expect(headers.get('cache-control')).toBe('no-store');
    });

    it('$platform is the file’s, $arch only where the file names one, $version never resolves', async () => {
      const all = [WINDOWS, artifact('linux', 'x64', 'a.deb'), artifact('linux', 'arm64', 'b.deb')];
      for (const [expression, file, status] of [
        [{ key: '$platform', operator: 'In', values: ['win32'] }, 'latest.yml', 200],
        [{ key: '$platform', operator: 'In', values: ['win32'] }, 'latest-linux.yml', 404],
        [{ key: '$arch', operator: 'In', values: ['x64'] }, 'latest-linux.yml', 200],
        [{ key: '$arch', operator: 'In', values: ['x64'] }, 'latest-linux-arm64.yml', 404],
        [{ key: '$arch', operator: 'Exists' }, 'latest.yml', 404],
        [{ key: '$version', operator: 'VersionLt', values: ['9.0.0'] }, 'latest.yml', 404],
        [{ key: '$version', operator: 'DoesNotExist' }, 'latest.yml', 200],
      ] as const) {
        const targets = { matchExpressions: [expression] };
        const tenant = await tenantWith(node, ['1.0.0', { artifacts: all, targets }]);
        expect([expression, (await ask(tenant, file)).status]).toEqual([expression, status]);
      }
    });

    it('is shown only after its offer is durable: it can no longer be narrowed', async () => {
      const tenant = await tenantWith(node, ['1.0.0', { artifacts, rollout: 100 }]);
      expect(await versionIn(tenant)).toBe('1.0.0');
      const { status, body } = await control(node, tenant, '1.0.0', { rollout: 50 });
      expect([status, body?.error]).toEqual([422, expect.stringContaining('100%')]);
    });
  });

  describe('the device', () => {
    it('is X-Service-Device, else x-user-staging-id, in the cohort it has on /u, else in none', async () => {
      const staged = { artifacts, rollout: 50 };
      const tenant = await tenantWith(node, ['1.0.0', { artifacts }], ['2.0.0', staged]);
      const seen = new Set<unknown>();
      for (let index = 0; index < 20; index++) {
        const device = randomUUID();
        const options = { platform: 'windows', arch: 'x64', device };
        const expected = (await check(node, tenant, '1.0.0', options)).body?.version ?? '1.0.0';
        seen.add(expected);
        for (const headers of [
          { 'x-service-device': device },
          { 'x-user-staging-id': device },
          { 'x-service-device': device, 'x-user-staging-id': randomUUID() },
        ]) {
          const { stagingPercentage, version } = await read(tenant, 'latest.yml', { headers });
          // Who is in was decided here.
          expect([stagingPercentage, version]).toEqual([undefined, expected]);
        }
      }
      expect(seen.size).toBe(2);
      const none = [{}, { 'x-service-device': '' }, { 'x-user-staging-id': 'x'.repeat(129) }];
      for (const headers of none) {
        expect(await versionIn(tenant, 'latest.yml', { headers })).toBe('1.0.0');
      }
    });

    it('checks in with an unknown version, which never overwrites a known one', async () => {
      const tenant = await tenantWith(node, ['1.0.0', { artifacts }]);
      const known = randomUUID();
      const fresh = randomUUID();
      await check(node, tenant, '0.5.0', { platform: 'windows', arch: 'x64', device: known });
      const recorded = async () =>
        Object.fromEntries((await devicesOf(node, tenant)).map((each) => [each.deviceId, each]));
      await eventually('it is stored', async () => known in (await recorded()));
      for (const device of [known, fresh]) {
        await ask(tenant, 'latest.yml', { headers: { 'x-user-staging-id': device } });
      }
      const lastOffered = { version: '1.0.0', at: expect.any(String) };
      await eventually('both were offered', async () => {
        const all = await recorded();
        return [known, fresh].every((device) => (all[device]?.lastOffered ?? null) !== null);
      });
      const device = { platform: 'windows', source: 'pull', lastOffered };
      expect(await recorded()).toMatchObject({
        [fresh]: { ...device, version: null },
        [known]: { ...device, version: '0.5.0' },
      });
    });

    it('labels decide, and are stored when the device is known, nowhere when not', async () => {
      const targets = { matchLabels: { ring: ['early'] } };
      const tenant = await tenantWith(
        node,
        ['1.0.0', { artifacts }],
        ['2.0.0', { artifacts, targets }],
      );
      const query = 'noCache=1d2f&l.ring=early';
      expect(await versionIn(tenant, 'latest.yml', { query })).toBe('2.0.0');
      expect(await versionIn(tenant)).toBe('1.0.0');

      const device = randomUUID();
      const headers = { 'x-user-staging-id': device };
      expect(await versionIn(tenant, 'latest.yml', { headers })).toBe('1.0.0');
      expect(await versionIn(tenant, 'latest.yml', { headers, query })).toBe('2.0.0');
      expect(await versionIn(tenant, 'latest.yml', { headers })).toBe('2.0.0');
      await eventually('the labels are stored', async () => {
        const [stored] = await devicesOf(node, tenant);
        return (stored?.labels as Fields | undefined)?.ring === 'early';
      });
      expect(await devicesOf(node, tenant)).toMatchObject([{ deviceId: device }]);
      const { status, body } = await ask(tenant, 'latest.yml', { query: `l.k=${'x'.repeat(257)}` });
      expect([status, body?.error]).toEqual([400, expect.stringContaining('l.k')]);
    });
  });

  it('has an ETag: 304 while it holds, 200 after a change; HEAD has the same headers', async () => {
    const tenant = await tenantWith(node, ['1.0.0', { artifacts }]);
    const first = await ask(tenant);
    const etag = first.headers.get('etag') ?? '';
    expect(etag).toMatch(/^"[\w-]+"$/);
    expect(first.headers.get('cache-control')).toBe('private, no-cache');
    const headers = { 'if-none-match': etag };
    const again = await ask(tenant, 'latest.yml', { headers });
    expect([again.status, again.text, again.headers.get('etag')]).toEqual([304, '', etag]);
    const head = await ask(tenant, 'latest.yml', { method: 'HEAD' });
    expect([head.status, head.text, head.headers.get('etag')]).toEqual([200, '', etag]);
    expect(head.headers.get('content-length')).toBe(String(Buffer.byteLength(first.text)));
    expect((await publish(node, tenant, '1.0.1', { artifacts })).status).toBe(201);
    expect((await ask(tenant, 'latest.yml', { headers })).status).toBe(200);
  });
});
