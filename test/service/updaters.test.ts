// Tests updaters over HTTP (docs/contract.md 4.8, 16 and 19 to 22): that each address leads to its answer,
// what a check leaves on record, and what it changes. Which file a client gets, and what it is refused, is
// tested in test/updater, and downloads in test/http/download-routes.test.ts.

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { get as httpGet, type IncomingMessage } from 'node:http';
import { beforeAll, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { expectError } from '../support/expect-error.ts';
import {
  anotherApp,
  artifacts,
  at,
  fileOf,
  release,
  serve,
  setChannel,
} from '../support/released.ts';
import { deviceSuite } from '../support/service-suite.ts';
import {
  admin,
  check,
  control,
  createTenant,
  decisions,
  devicesOf,
  manage,
  send,
  type Tenant,
} from '../support/tenant.ts';

type Fields = Record<string, unknown>;

const [JSON_TYPE, YAML] = ['application/json', 'text/yaml; charset=utf-8'];
const [XML, TEXT] = ['application/xml', 'text/plain; charset=utf-8'];
const FILES = artifacts(`linux/x64 a.AppImage, darwin a.zip, windows/x64 a-setup.exe,
  windows/x64 a.msix, windows/x64 a-full.nupkg`);

/** Addresses: media type, file that they lead to, and version and machine that are then on record. */
const CLIENTS = [
  ['/u/@/linux/x64/1.0.0', JSON_TYPE, 'a.AppImage', '1.0.0', 'linux/x86_64'],
  ['/e/@/latest.yml', YAML, 'a-setup.exe', null, 'windows/null'],
  ['/e/@/x64/latest.yml', YAML, 'a-setup.exe', null, 'windows/x86_64'],
  ['/squirrel/@/darwin-arm64/1.0.0', JSON_TYPE, 'a.zip', '1.0.0', 'darwin/aarch64'],
  ['/squirrel/@/win32-x64/msix/1.0.0', JSON_TYPE, 'a.msix', '1.0.0', 'windows/x86_64'],
  ['/squirrel/@/win32-x64/1.0.0/RELEASES', TEXT, 'a-full.nupkg', '1.0.0', 'windows/x86_64'],
  ['/velopack/@/releases.win.json', JSON_TYPE, 'a-full.nupkg', null, 'windows/x86_64'],
  ['/sparkle/@/appcast.xml', XML, 'a.zip', null, 'darwin/null'],
  ['/sparkle/@/appcast-windows.xml', XML, 'a-setup.exe', null, 'windows/null'],
] as const;

deviceSuite('updaters', (node) => {
  let tenant: Tenant;
  beforeAll(async () => {
    tenant = await createTenant(node);
  });

  const appWith = (releases: Readonly<Record<string, Fields>> = {}) =>
    anotherApp(node, tenant, ...Object.entries(releases));

  function get({ app }: Tenant, path: string, headers: Record<string, string> = {}) {
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
    '%s is %s with %s: an offer, and a check-in with labels (§14.1, §16.5, §21.4)',
    async (path, type, file, version, machine) => {
      const targets = { matchLabels: { ring: ['early'] } };
      const app = await appWith({ '1.1.0': { artifacts: FILES, targets } });
      const id = randomUUID();
      const [headers, early] = [{ 'X-Service-Device': id }, `${path}?l.ring=early`];
      expect((await get(app, path, headers)).text).not.toContain(file);
      for (const rollout of [99, 100]) await serve(node, app, '1.1.0', { rollout });
      const answer = await get(app, early);
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, type]);
      expect(answer.headers.get('cache-control')).toBe(
        type === YAML ? 'private, no-cache' : 'no-store',
      );
      expect(answer.text).toContain(file);
      const { status, body } = await control(node, app, '1.1.0', { rollout: 99 });
      expect([status, body?.error]).toEqual([422, expect.stringContaining('100%')]);
      expect((await get(app, early, headers)).text).toBe(answer.text);
      expect((await get(app, path, headers)).text).toBe(answer.text);
      const [platform, arch = ''] = machine.split('/');
      const device = { version, platform, arch: arch === 'null' ? null : arch, source: 'pull' };
      const lastOffered = { version: '1.1.0' };
      await recorded(app, { [id]: { ...device, labels: { ring: 'early' }, lastOffered } });
    },
  );

  it('a check without a version never overwrites a known one (§16.5)', async () => {
    const app = await appWith({ '1.0.0': { artifacts: FILES } });
    await check(node, app, '0.5.0', { platform: 'windows', arch: 'x64', device: 'known' });
    await recorded(app, { known: { version: '0.5.0', client: 'u' } });
    for (const device of ['known', 'fresh']) {
      await get(app, '/e/@/latest.yml', { 'x-user-staging-id': device });
    }
    await recorded(app, {
      known: { version: '0.5.0', client: 'e' },
      fresh: { version: null, client: 'e', lastOffered: { version: '1.0.0' } },
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
    const ask = async (path: string) => (await get(tenant, `${path}?device=${device}`)).status;
    const statuses = await Promise.all(Array.from({ length: 125 }, () => ask('/feed/@')));
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(5);
    for (const path of [...CLIENTS.map(([each]) => each), '/download/@/linux']) {
      expect([path, await ask(path)]).toEqual([path, 429]);
    }
    expect((await get(tenant, '/feed/@', { 'X-Service-Device': device })).status).toBe(429);
  });

  it('an update file has an ETag, which holds until the file changes (§16.11)', async () => {
    const app = await appWith({ '1.0.0': { artifacts: FILES } });
    const { headers } = await get(app, '/e/@/latest.yml');
    const known = { 'if-none-match': headers.get('etag') ?? '' };
    const { status, text } = await get(app, '/e/@/latest.yml', known);
    expect([status, text]).toEqual([304, '']);
    await release(node, app, '1.0.1', { artifacts: FILES });
    expect((await get(app, '/e/@/latest.yml', known)).status).toBe(200);
  });

  it('an appcast gets its notes once they are rendered (§21.5)', async () => {
    const app = await appWith({ '1.0.0': { artifacts: FILES, notes: '## Better' } });
    await eventually('it has its notes', async () =>
      (await get(app, '/sparkle/@/appcast.xml')).text.includes('h2&gt;Better'),
    );
  });

  it('downloads and packages redirect, and are neither offers nor check-ins (§21.3, §22)', async () => {
    const app = await appWith({ '1.0.0': { artifacts: FILES } });
    const visit = async (path: string, accept = '*/*') => {
      const address = `${node.url}/${path.replace('@', `${app.app}/stable`)}?device=${randomUUID()}`;
      const { status, headers } = await fetch(address, { redirect: 'manual', headers: { accept } });
      const led = headers.get('location') ?? headers.get('content-type');
      return `${status} ${led}, ${headers.get('cache-control')}`;
    };
    expect(await visit('download/@/linux')).toBe(`302 ${at('a.AppImage')}, public, max-age=60`);
    expect(await visit('velopack/@/a.msix')).toBe(`302 ${at('a.msix')}, no-store`);
    expect(await visit('download/@/os2')).toBe('404 application/json, no-store');
    const page = await visit('download/@/os2', 'text/html');
    expect(page).toBe('404 text/html; charset=utf-8, no-store');
    await serve(node, app, '1.0.0', { rollout: 5 });
    await get(app, '/e/@/latest.yml?device=later');
    await recorded(app, { later: {} });
  });

  it('what a publisher tells of an artifact is answered as given, and is in no manifest and feed (§2.1)', async () => {
    const bare = { platform: 'linux', arch: 'x86_64', url: at('a') };
    const more = { ...bare, format: 'deb', minimumSystemVersion: '10.15.7', buildVersion: '1042' };
    const given = { ...more, sha256: 'AB'.repeat(32), sha1: 'CD'.repeat(20) };
    const other = { ...bare, url: at('b.deb') };
    const kept = [{ ...more, sha256: 'ab'.repeat(32), sha1: 'cd'.repeat(20) }, other];
    const app = await appWith();
    const published = await release(node, app, '1.1.0', { artifacts: [given, other] });
    expect(published.artifacts).toEqual(kept);
    const list = await manage(node, app, 'GET', `releases?app=${app.app}`);
    expect(list.body).toMatchObject({ releases: [{ artifacts: kept }] });
    const { body = {} } = await check(node, app, '1.0.0');
    expect(Object.keys(body).sort()).toEqual(['notes', 'pub_date', 'updateMode', 'url', 'version']);
    const { body: feed = {} } = await get(app, '/feed/@');
    expect((feed.releases as Fields[])[0]?.artifacts).toEqual([bare, other]);
  });

  it('a promoted delta is answered as published, and offered to no client (§13.16)', async () => {
    const both = artifacts('windows/x64 a-delta.nupkg, windows/x64 a-full.nupkg');
    const app = await appWith({ '1.1.0': { channel: 'beta', artifacts: both } });
    const body = { app: app.app, version: '1.1.0', from: 'beta', to: 'stable' };
    const promoted = await manage(node, app, 'POST', 'releases/promote', body);
    expect(promoted.body).toMatchObject({ release: { artifacts: both } });
    for (const path of ['/velopack/@/releases.win.json', '/feed/@', '/feed/@/rss.xml']) {
      const names = (await get(app, path)).text.match(/[\w-]+\.nupkg/g);
      expect([path, new Set(names)]).toEqual([path, new Set(['a-full.nupkg'])]);
    }
  });

  it('a decisions call tells the kind of each device, and a channel can require signatures (§4.6, §20.2, §20.5)', async () => {
    const signed = { signature: 's' };
    const app = await appWith({
      '1.1.0': { artifacts: artifacts('linux a.deb, linux a.rpm, linux a.AppImage', signed) },
      '1.2.0': { artifacts: artifacts('linux b.AppImage') },
    });
    const devices = ['deb', 'rpm', 'pacman', 'unknown', undefined].map((bundle, index) => {
      const device = { deviceId: `d${index}`, version: '1.0.0', platform: 'linux' };
      return { ...device, ...(bundle && { bundle }) };
    });
    for (const requireSignature of [false, true, false]) {
      await setChannel(node, app, { requireSignature });
      const file = requireSignature ? 'a.AppImage' : 'b.AppImage';
      expect(fileOf(await get(app, '/u/@/linux/x64/1.0.0'))).toBe(file);
      const { body } = await decisions(node, app, devices);
      const all = body?.decisions as { update: { url: string } | null }[];
      const names = all.map(({ update }) => update?.url.split('/').at(-1));
      expect(names).toEqual(['a.deb', 'a.rpm', undefined, file, file]);
    }
    for (const requireSignature of ['true', 1, null]) {
      const change = { app: app.app, name: 'stable', requireSignature };
      const answer = await admin(node, 'PATCH', 'channels', change);
      expectError(answer, 400, 'requireSignature: Expected a boolean');
    }
  });

  it.each([
    ['GET', '/e/@/beta.yml', 404, 'Unknown file'],
    ['GET', '/sparkle/@y/appcast.xml', 404, 'Unknown channel'],
    ['GET', '/squirrel/@/darwin-x64', 404, 'Not found'],
    ['GET', '/e/app/%ZZ/latest.yml', 400, 'channel: Malformed percent-encoding'],
    ['GET', '/velopack/@/releases.win.json?localVersion=x', 400, 'localVersion: Invalid version'],
    ['POST', '/squirrel/@/darwin-x64/1.0.0', 405, 'Method not allowed'],
  ])('%s %s is refused with %d %s (§16.8, §21.4)', async (method, path, status, error) => {
    expectError(await send(node, method, path.replace('@', `${tenant.app}/stable`)), status, error);
  });

  it.each(CLIENTS)('a byte that is no UTF-8 at %s is no fault of the service', async (path) => {
    const address = path.replace('@', `${tenant.app}/stable`);
    for (const broken of [`${address}?device=\xff`, `${address}\xff`, `${address}/\xff`]) {
      const headers = { 'x-forwarded-for': '10.8.0.1' };
      const request = httpGet(`${node.url}/`, { path: broken, headers });
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      response.resume();
      expect([204, 200, 400, 404], broken).toContain(response.statusCode);
    }
  });
});
