// Tests updaters over HTTP (docs/contract.md 4.8, 16 and 19 to 22): that each address leads to its answer, what a
// check leaves on record, and what it changes. Which file of which release a client gets, and what it is refused,
// is tested in test/updater, and downloads in test/http/download-routes.test.ts.

import { randomUUID } from 'node:crypto';
import { get as httpGet } from 'node:http';
import { beforeAll, expect, it } from 'vitest';
import { artifacts } from '../support/device-side.ts';
import { eventually } from '../support/eventually.ts';
import { expectError } from '../support/expect-error.ts';
import { at, fileOf, release, serve, setChannel } from '../support/released.ts';
import { deviceSuite } from '../support/service-suite.ts';
import {
  type Answer,
  admin,
  check,
  control,
  createTenant,
  decisions,
  devicesOf,
  manage,
  randomId,
  send,
  type Tenant,
} from '../support/tenant.ts';

type Fields = Record<string, unknown>;

const EARLY = { targets: { matchLabels: { ring: ['early'] } } };
const FILES = artifacts(`linux/x64 a.AppImage, darwin a.zip, windows/x64 a-setup.exe,
  windows/x64 a.msix, windows/x64 a-full.nupkg`);

/** Addresses, each with its media type, the file that it leads to, and what is then recorded of the device. */
const CLIENTS: readonly (readonly [path: string, type: string, file: string, recorded: Fields])[] =
  [
    [
      '/u/@/linux/x64/1.0.0',
      'application/json',
      'a.AppImage',
      { client: 'u', version: '1.0.0', arch: 'x86_64' },
    ],
    [
      '/e/@/latest.yml',
      'text/yaml; charset=utf-8',
      'a-setup.exe',
      { client: 'e', version: null, arch: null },
    ],
    [
      '/e/@/x64/latest.yml',
      'text/yaml; charset=utf-8',
      'a-setup.exe',
      { client: 'e', arch: 'x86_64' },
    ],
    [
      '/squirrel/@/darwin-arm64/1.0.0',
      'application/json',
      'a.zip',
      { client: 'squirrel', arch: 'aarch64' },
    ],
    ['/squirrel/@/win32-x64/msix/1.0.0', 'application/json', 'a.msix', { bundle: 'msix' }],
    [
      '/squirrel/@/win32-x64/1.0.0/RELEASES',
      'text/plain; charset=utf-8',
      'a-full.nupkg',
      { bundle: 'nupkg', version: '1.0.0' },
    ],
    [
      '/velopack/@/releases.win.json?localVersion=1.0.0',
      'application/json',
      'a-full.nupkg',
      { client: 'velopack', version: '1.0.0' },
    ],
    [
      '/sparkle/@/appcast.xml',
      'application/xml',
      'a.zip',
      { client: 'sparkle', platform: 'darwin', version: null },
    ],
    ['/sparkle/@/appcast-windows.xml', 'application/xml', 'a-setup.exe', { platform: 'windows' }],
  ];

deviceSuite('updaters', (node) => {
  let tenant: Tenant;
  beforeAll(async () => {
    tenant = await createTenant(node);
  });

  /** Creates an app of the tenant with these releases on stable. */
  async function appWith(...releases: readonly (readonly [string, Fields])[]): Promise<Tenant> {
    const ref = `app-${randomId()}`;
    const made = await admin(node, 'POST', 'apps', { org: tenant.org, ref, name: 'App' });
    expect(made.status, made.text).toBe(201);
    const app = { ...tenant, app: ref, appId: String(made.body?.id) };
    for (const [version, more] of releases) await release(node, app, version, more);
    return app;
  }

  function get(
    { app }: Tenant,
    path: string,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    return send(node, 'GET', path.replace('@', `${app}/stable`), { headers });
  }

  /** Waits until these devices, and no others, are on record with these fields. */
  async function recorded(app: Tenant, expected: Readonly<Record<string, Fields>>): Promise<void> {
    const found = async () =>
      Object.fromEntries((await devicesOf(node, app)).map((each) => [String(each.deviceId), each]));
    await expect.poll(found).toMatchObject(expected);
    expect(Object.keys(await found()).sort()).toEqual(Object.keys(expected).sort());
  }

  it.each(CLIENTS)(
    '%s is %s; its check is an offer and a check-in, with labels (§14.1, §21.4)',
    async (path, type, file, fields) => {
      const app = await appWith(['1.1.0', { artifacts: FILES, ...EARLY }]);
      const device = { 'X-Service-Device': 'd' };
      expect((await get(app, path, device)).text).not.toContain(file);
      await serve(node, app, '1.1.0', { rollout: 99 });
      await serve(node, app, '1.1.0', { rollout: 100 });
      const early = path + (path.includes('?') ? '&' : '?').concat('l.ring=early');
      const { status, headers, text } = await get(app, early, device);
      expect([status, headers.get('content-type'), text]).toEqual([
        200,
        type,
        expect.stringContaining(file),
      ]);
      expect((await get(app, path, device)).text).toBe(text);
      expectError(
        await control(node, app, '1.1.0', { rollout: 99 }),
        422,
        expect.stringContaining('100%'),
      );
      const lastOffered = { version: '1.1.0' };
      await recorded(app, {
        d: { ...fields, source: 'pull', labels: { ring: 'early' }, lastOffered },
      });
    },
  );

  it('labels of a device without an id decide, and are stored nowhere (§16.3)', async () => {
    const app = await appWith(
      ['1.0.0', { artifacts: FILES }],
      ['2.0.0', { artifacts: FILES, ...EARLY }],
    );
    expect((await get(app, '/e/@/latest.yml?l.ring=early')).text).toContain("'2.0.0'");
    expect((await get(app, '/e/@/latest.yml')).text).toContain("'1.0.0'");
    await get(app, '/e/@/latest.yml', { 'x-user-staging-id': 'later' });
    await recorded(app, { later: { labels: {} } });
  });

  it('a check without a version never overwrites a known one (§16.5)', async () => {
    const app = await appWith(['1.0.0', { artifacts: FILES }]);
    await check(node, app, '0.5.0', { platform: 'windows', arch: 'x64', device: 'known' });
    await recorded(app, { known: { version: '0.5.0', lastOffered: { version: '1.0.0' } } });
    for (const device of ['known', 'fresh'])
      await get(app, '/e/@/latest.yml', { 'x-user-staging-id': device });
    const fields = { client: 'e', lastOffered: { version: '1.0.0' } };
    await recorded(app, {
      known: { ...fields, version: '0.5.0' },
      fresh: { ...fields, version: null },
    });
  });

  it('a device is recorded by the header, the query, or its client’s own name for it (§16.2, §19.9, §21.3)', async () => {
    const app = await appWith();
    const both = { 'X-Service-Device': 'header', 'X-User-Staging-Id': 'no' };
    await get(app, '/u/@/linux/x64/1.0.0?device=no', both);
    await get(app, '/u/@/linux/x64/1.0.0?device=no&device=gr%C3%B6%C3%9Fe');
    await get(app, '/u/@/linux/x64/1.0.0?device=%00');
    await get(app, '/e/@/latest.yml?device=', { 'X-User-Staging-Id': 'electron' });
    await get(app, '/velopack/@/releases.win.json?localVersion=1.0.1&stagingId=velopack');
    await recorded(app, { electron: {}, größe: {}, header: {}, velopack: { version: '1.0.1' } });
  });

  it('a device has one budget on every device endpoint, also by its name in the query (§19.2, §19.3)', async () => {
    const device = randomUUID();
    const feed = `/feed/@?device=${device}`;
    const answers = await Promise.all(Array.from({ length: 125 }, () => get(tenant, feed)));
    expect(answers.filter(({ status }) => status === 429).length).toBeGreaterThanOrEqual(5);
    for (const path of [
      ...CLIENTS.map(([each]) => each),
      '/download/@/linux',
      '/velopack/@/a.nupkg',
    ]) {
      const query = `${path.includes('?') ? '&' : '?'}device=${device}`;
      expect([path, (await get(tenant, path + query)).status]).toEqual([path, 429]);
    }
    expect((await get(tenant, '/feed/@', { 'X-Service-Device': device })).status).toBe(429);
  });

  it('an update file has an ETag: 304 while it holds, 200 after a change; HEAD has the same headers (§16.11)', async () => {
    const app = await appWith(['1.0.0', { artifacts: FILES }]);
    const first = await get(app, '/e/@/latest.yml');
    const etag = first.headers.get('etag') ?? '';
    expect([etag, first.headers.get('cache-control')]).toEqual([
      expect.stringMatching(/^"[\w-]+"$/),
      'private, no-cache',
    ]);
    const known = { 'if-none-match': etag };
    const again = await get(app, '/e/@/latest.yml', known);
    expect([again.status, again.text, again.headers.get('etag')]).toEqual([304, '', etag]);
    const head = await send(node, 'HEAD', `/e/${app.app}/stable/latest.yml`);
    expect([head.status, head.text, head.headers.get('etag')]).toEqual([200, '', etag]);
    expect(head.headers.get('content-length')).toBe(String(Buffer.byteLength(first.text)));
    await release(node, app, '1.0.1', { artifacts: FILES });
    expect((await get(app, '/e/@/latest.yml', known)).status).toBe(200);
  });

  it('an appcast gets its notes once they are rendered, and no cache may keep it (§21.5)', async () => {
    const app = await appWith(['1.0.0', { artifacts: FILES, notes: '## Better' }]);
    await eventually('it has its notes', async () =>
      (await get(app, '/sparkle/@/appcast.xml')).text.includes('&lt;h2&gt;Better'),
    );
    expect((await get(app, '/sparkle/@/appcast.xml')).headers.get('cache-control')).toBe(
      'no-store',
    );
  });

  it('downloads and packages redirect, are kept for a minute or not at all, and are neither offers nor check-ins (§21.3, §22)', async () => {
    const app = await appWith(['1.0.0', { artifacts: FILES }]);
    const visit = (path: string, headers = {}) =>
      fetch(node.url + path.replace('@', `${app.app}/stable`), {
        redirect: 'manual',
        headers: { 'X-Service-Device': 'd', ...headers },
      });
    for (const [path, file, kept] of [
      ['/download/@/linux', 'a.AppImage', 'public, max-age=60'],
      ['/velopack/@/a-full.nupkg', 'a-full.nupkg', 'no-store'],
    ] as const) {
      const { status, headers } = await visit(path);
      expect([status, headers.get('location'), headers.get('cache-control')]).toEqual([
        302,
        at(file),
        kept,
      ]);
    }
    expectError(await get(app, '/download/@/freebsd'), 404, 'No download');
    const page = await visit('/download/@/freebsd', { accept: 'text/html' });
    expect([page.status, page.headers.get('content-type')]).toEqual([
      404,
      'text/html; charset=utf-8',
    ]);
    expect(page.headers.get('content-security-policy')).toMatch(/^default-src 'none'/);
    await serve(node, app, '1.0.0', { rollout: 5 });
    await get(app, '/e/@/latest.yml?device=later');
    await recorded(app, { later: {} });
  });

  it('what a publisher tells of an artifact is answered as given, and is in no manifest and feed (§2.1)', async () => {
    const [bare, other] = artifacts('linux/x86_64 a, linux/x86_64 b.deb').map(
      ({ platform, arch, url }) => ({ platform, arch, url }),
    );
    const more = { format: 'deb', minimumSystemVersion: '10.15.7', buildVersion: '1042' };
    const sums = { sha256: 'AB'.repeat(32), sha1: 'CD'.repeat(20) };
    const app = await appWith();
    const given = [{ ...bare, ...more, ...sums }, other];
    const kept = [{ ...bare, ...more, sha256: 'ab'.repeat(32), sha1: 'cd'.repeat(20) }, other];
    expect((await release(node, app, '1.1.0', { artifacts: given })).artifacts).toEqual(kept);
    const list = await manage(node, app, 'GET', `releases?app=${app.app}`);
    expect(list.body).toMatchObject({ releases: [{ artifacts: kept }] });
    const { body = {} } = await check(node, app, '1.0.0');
    expect(Object.keys(body).sort()).toEqual(['notes', 'pub_date', 'updateMode', 'url', 'version']);
    expect((await get(app, '/feed/@')).body).toMatchObject({
      releases: [{ artifacts: [bare, other] }],
    });
  });

  it('a promoted delta is answered as published, and offered to no client (§13.16)', async () => {
    const both = artifacts('windows/x64 a-delta.nupkg, windows/x64 a-full.nupkg');
    const app = await appWith(['1.1.0', { channel: 'beta', artifacts: both }]);
    const body = { app: app.app, version: '1.1.0', from: 'beta', to: 'stable' };
    const { status, body: promoted } = await manage(node, app, 'POST', 'releases/promote', body);
    expect([status, promoted?.release]).toEqual([
      201,
      expect.objectContaining({ artifacts: both }),
    ]);
    for (const path of [
      '/velopack/@/releases.win.json',
      '/u/@/windows/x64/1.0.0',
      '/feed/@',
      '/feed/@/rss.xml',
    ]) {
      const { text } = await get(app, path);
      expect([
        path,
        text.match(/[\w-]+\.nupkg/g)?.every((name) => name === 'a-full.nupkg'),
      ]).toEqual([path, true]);
    }
  });

  it('a decisions call tells the kind of each device, and a channel can require signatures (§4.6, §20.2, §20.5)', async () => {
    const kinds = artifacts('linux/x64 a.deb, linux/x64 a.rpm, linux/x64 a.AppImage', {
      signature: 's',
    });
    const app = await appWith(
      ['1.1.0', { artifacts: kinds }],
      ['1.2.0', { artifacts: artifacts('linux/x64 b.AppImage') }],
    );
    const decided = async () => {
      const devices = ['deb', 'rpm', 'pacman', 'unknown', undefined].map((bundle, index) => {
        const device = { deviceId: `d${index}`, version: '1.0.0', platform: 'linux', arch: 'x64' };
        return { ...device, ...(bundle && { bundle }) };
      });
      const { body } = await decisions(node, app, devices);
      const all = body?.decisions as { update: { url: string } | null }[];
      return all.map(({ update }) => update?.url.split('/').at(-1));
    };
    for (const [requireSignature, file] of [
      [false, 'b.AppImage'],
      [true, 'a.AppImage'],
      [false, 'b.AppImage'],
    ] as const) {
      await setChannel(node, app, { requireSignature });
      expect(await decided()).toEqual(['a.deb', 'a.rpm', undefined, file, file]);
      expect(fileOf(await get(app, '/u/@/linux/x64/1.0.0'))).toBe(file);
    }
    for (const requireSignature of ['', 'true', 1, null, [], {}]) {
      const change = { app: app.app, name: 'stable', requireSignature };
      expectError(
        await admin(node, 'PATCH', 'channels', change),
        400,
        'requireSignature: Expected a boolean',
      );
    }
  });

  it.each([
    ['GET', '/e/@/beta.yml', 404, 'Unknown file'],
    ['GET', '/e/@/latest.yml', 404, 'No release offered'],
    ['GET', '/e/nobody/stable/latest.yml', 404, 'Unknown app'],
    ['GET', '/sparkle/@y/appcast.xml', 404, 'Unknown channel'],
    ['GET', '/squirrel/@/darwin-x64', 404, 'Not found'],
    ['GET', '/e/app/%ZZ/latest.yml', 400, 'channel: Malformed percent-encoding'],
    [
      'GET',
      `/u/@/linux/x64/1.0.0?bundle=${'x'.repeat(33)}`,
      400,
      'bundle: Must have at most 32 characters',
    ],
    [
      'GET',
      '/velopack/@/releases.win.json?id=%00',
      400,
      'id: Must not contain NUL or broken characters',
    ],
    ['GET', '/download/@/%FF', 400, 'path: Malformed percent-encoding'],
    ['POST', '/squirrel/@/darwin-x64/1.0.0', 405, 'Method not allowed'],
  ])('%s %s is refused with %d (§16.8, §20.2, §21.4)', async (method, path, status, error) => {
    expectError(await send(node, method, path.replace('@', `${tenant.app}/stable`)), status, error);
  });

  it.each(CLIENTS.map(([path]) => path))(
    'a byte that is no UTF-8 at %s is no fault of the service',
    async (path) => {
      const address = path.replace('@', `${tenant.app}/stable`).split('?')[0];
      for (const broken of [
        `${address}?device=\xff`,
        `${address}\xff`,
        `${address?.replace(/[^/]+$/, '')}\xff`,
      ]) {
        const status = await new Promise<number | undefined>((resolve, reject) => {
          const request = httpGet(`${node.url}/`, { path: broken }, (response) => {
            response.resume();
            resolve(response.statusCode);
          });
          request.on('error', reject);
        });
        expect([broken, status]).toEqual([
          broken,
          expect.toSatisfy((code: number) => code >= 200 && code < 500),
        ]);
      }
    },
  );
});
