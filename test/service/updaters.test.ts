// Tests updaters over HTTP (docs/contract.md 4.8, 16 and 19 to 22): that each address leads to its answer,
// what a check leaves on record, and what it changes. Which file a client gets, and what it is refused, is
// tested in test/updater, and downloads in test/http/download-routes.test.ts.

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { get as httpGet, type IncomingMessage } from 'node:http';
import { expect, it } from 'vitest';
import { expectError } from '../support/expect-error.ts';
import { artifacts, at, fileOf } from '../support/released.ts';
import { deviceSuite, suiteTenant } from '../support/service-suite.ts';
import { type Json, send, type Tenant } from '../support/tenant.ts';

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
  const tenant = suiteTenant(node);

  const appWith = (releases: Readonly<Record<string, Json>> = {}) =>
    tenant.anotherApp(...Object.entries(releases));

  function get({ app }: Tenant, path: string, headers: Record<string, string> = {}) {
    return send(node, 'GET', path.replace('@', `${app}/stable`), { headers });
  }

  /** Waits until these devices, and no others, are on record with these fields. */
  async function recorded(app: Tenant, expected: Readonly<Record<string, Json>>): Promise<void> {
    const found = async () =>
      Object.fromEntries((await app.devices()).map((each) => [String(each.deviceId), each]));
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
      for (const rollout of [99, 100]) await app.serve('1.1.0', { rollout });
      const answer = await get(app, early);
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, type]);
      expect(answer.headers.get('cache-control')).toBe(
        type === YAML ? 'private, no-cache' : 'no-store',
      );
      expect(answer.text).toContain(file);
      const { status, body } = await app.control('1.1.0', { rollout: 99 });
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
    await app.check('0.5.0', { platform: 'windows', arch: 'x64', device: 'known' });
    await recorded(app, { known: { version: '0.5.0', client: 'u' } });
    for (const device of ['known', 'fresh']) {
      await get(app, '/e/@/latest.yml', { 'x-user-staging-id': device });
    }
    await recorded(app, {
      known: { version: '0.5.0', client: 'e' },
      fresh: { version: null, client: 'e', lastOffered: { version: '1.0.0' } },
    });
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
    await app.release('1.0.1', { artifacts: FILES });
    expect((await get(app, '/e/@/latest.yml', known)).status).toBe(200);
  });

  it('downloads and packages redirect, and are neither offers nor check-ins (§21.3, §22)', async () => {
    const app = await appWith({ '1.0.0': { artifacts: FILES } });
    for (const [path, file] of [
      ['download/@/linux', 'a.AppImage'],
      ['velopack/@/a.msix', 'a.msix'],
    ] as const) {
      const address = `${node.url}/${path.replace('@', `${app.app}/stable`)}?device=${randomUUID()}`;
      const { status, headers } = await fetch(address, { redirect: 'manual' });
      expect([status, headers.get('location')]).toEqual([302, at(file)]);
    }
    await app.serve('1.0.0', { rollout: 5 });
    await get(app, '/e/@/latest.yml?device=later');
    await recorded(app, { later: {} });
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
    for (const requireSignature of [false, true]) {
      await app.setChannel({ requireSignature });
      const file = requireSignature ? 'a.AppImage' : 'b.AppImage';
      expect(fileOf(await get(app, '/u/@/linux/x64/1.0.0'))).toBe(file);
      const { body } = await app.decisions(devices);
      const all = body?.decisions as { update: { url: string } | null }[];
      const names = all.map(({ update }) => update?.url.split('/').at(-1));
      expect(names).toEqual(['a.deb', 'a.rpm', undefined, file, file]);
    }
  });

  it.each([
    ['/sparkle/@y/appcast.xml', 404, 'Unknown channel'],
    ['/e/app/%ZZ/latest.yml', 400, 'channel: Malformed percent-encoding'],
    ['/velopack/@/releases.win.json?localVersion=x', 400, 'localVersion: Invalid version'],
  ])('%s is refused with %d %s (§21.4)', async (path, status, error) => {
    expectError(await get(tenant, path), status, error);
  });

  it('a byte that is no UTF-8 is no fault of the service', async () => {
    const addresses = CLIENTS.map(([path]) => path.replace('@', `${tenant.app}/stable`));
    const bytes = ['?device=\xff', '\xff', '/\xff'];
    for (const broken of addresses.flatMap((each) => bytes.map((byte) => each + byte))) {
      const headers = { 'x-forwarded-for': '10.8.0.1' };
      const request = httpGet(`${node.url}/`, { path: broken, headers });
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      response.resume();
      expect([204, 200, 400, 404], broken).toContain(response.statusCode);
    }
  });
});
