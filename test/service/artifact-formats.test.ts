// Tests which file a client can install (docs/contract.md 20) over HTTP: the fields of artifacts, `bundle`,
// required signatures, and `device` in the query. Which artifact is chosen, in any order of publishing, is
// tested in test/domain/decision/artifact/artifact-format.test.ts, what Tauri's client takes in test/updater.

import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { expectError } from '../support/expect-error.ts';
import { at, fileOf, release, serve, setChannel, tenantWith } from '../support/released.ts';
import { deviceSuite } from '../support/service-suite.ts';
import {
  check,
  control,
  createTenant,
  decisions,
  devicesOf,
  manage,
  send,
  type Tenant,
} from '../support/tenant.ts';

const TAURI = { 'User-Agent': 'tauri-plugin-updater/2.9.0', Accept: 'application/json' };
const NAMES = ['app.deb', 'app.rpm', 'app.AppImage'] as const;

function signed(name: string) {
  return unsigned(name, { signature: 'c2lnbmVk' });
}

function unsigned(name: string, more: object = {}) {
  return { platform: 'linux', arch: 'x86_64', url: at(name), ...more };
}

deviceSuite('formats of artifacts', (node) => {
  function ask(tenant: Tenant, query = '', headers: Record<string, string> = {}) {
    const path = `/u/${tenant.app}/stable/linux/x86_64/1.0.0${query === '' ? '' : `?${query}`}`;
    return send(node, 'GET', path, { headers });
  }

  /** Returns the file that a device is told to install; null for 204. */
  async function file(tenant: Tenant, query = '', headers: Record<string, string> = {}) {
    return fileOf(await ask(tenant, query, headers));
  }

  describe('publishing', () => {
    it('the added fields are answered where they were given, and are in no manifest (§2.1)', async () => {
      const tenant = await createTenant(node);
      const given = {
        format: 'deb',
        sha256: 'AB'.repeat(32),
        sha1: 'CD'.repeat(20),
        minimumSystemVersion: '10.15.7',
        buildVersion: '1042',
      };
      const kept = { ...given, sha256: 'ab'.repeat(32), sha1: 'cd'.repeat(20) };
      const artifacts = [unsigned('a', given), unsigned('b.deb')];
      const published = await release(node, tenant, '1.1.0', { artifacts });
      const expected = [unsigned('a', kept), unsigned('b.deb')];
      expect(published).toMatchObject({ artifacts: expected });
      const list = await manage(node, tenant, 'GET', `releases?app=${tenant.app}`);
      expect(list.body).toMatchObject({ releases: [{ artifacts: expected }] });
      const { body } = await check(node, tenant, '1.0.0');
      expect(Object.keys(body as object).sort()).toEqual(
        ['notes', 'pub_date', 'updateMode', 'url', 'version'].sort(),
      );
      const feed = await send(node, 'GET', `/feed/${tenant.app}/stable`);
      expect(feed.body).toMatchObject({
        releases: [{ artifacts: [unsigned('a'), unsigned('b.deb')] }],
      });
    });
  });

  describe('bundle', () => {
    it('a device gets the kind that it was installed from, or nothing (§20.2, §20.3)', async () => {
      const artifacts = NAMES.map((name) => signed(name));
      const tenant = await tenantWith(node, ['1.1.0', { artifacts }]);
      // A second time, the address is known.
      for (let time = 0; time < 2; time++) {
        for (const [query, name] of [
          ['bundle=deb', 'app.deb'],
          ['bundle=RPM', 'app.rpm'],
          ['bundle_type=appimage', 'app.AppImage'],
          ['bundle=appimage.tar.gz', 'app.AppImage'],
          ['bundle=pacman', null],
          ['bundle=deb&bundle_type=rpm', 'app.deb'],
          ['bundle=rpm&bundle=deb', 'app.deb'],
          ['b%75ndle=%64eb', 'app.deb'],
          ['', 'app.AppImage'],
        ] as const) {
          expect([query, await file(tenant, query)]).toEqual([query, name]);
        }
      }
    });

    it('what tells nothing fits every artifact; over 32 characters is 400 (§20.2, §20.3)', async () => {
      const tenant = await tenantWith(node, ['1.1.0', { artifacts: [signed('app.deb')] }]);
      const nothing = ['', '=', '=unknown', '={{bundle_type}}', '=%7B%7Bbundle_type%7D%7D'];
      for (const value of [...nothing, '=%00', '=%FF']) {
        expect([value, await file(tenant, `bundle${value}`)]).toEqual([value, 'app.deb']);
      }
      for (const name of ['bundle', 'bundle_type']) {
        for (const value of ['x'.repeat(33), '%7B'.repeat(33)]) {
          const answer = await ask(tenant, `${name}=${value}`);
          expectError(answer, 400, 'bundle: Must have at most 32 characters');
        }
      }
    });

    it('a release without the kind is passed over, also on the way back (§20.2)', async () => {
      const tenant = await createTenant(node);
      for (const [version, name] of [
        ['0.9.0', 'old.deb'],
        ['0.9.5', 'old.rpm'],
        ['1.0.0', 'app.deb'],
        ['1.1.0', 'new.deb'],
        ['1.2.0', 'new.rpm'],
      ] as const) {
        await release(node, tenant, version, { artifacts: [signed(name)] });
      }
      expect(await file(tenant, 'bundle=deb')).toBe('new.deb');
      await serve(node, tenant, '1.0.0', { status: 'rolled_back' });
      expect(await file(tenant, 'bundle=deb')).toBe('old.deb');
    });

    it('decides cohorts, labels, first offers and check-ins as ever', async () => {
      const targets = { matchLabels: { ring: ['early'] } };
      const artifacts = NAMES.map((name) => signed(name));
      const tenant = await tenantWith(node, ['1.1.0', { artifacts, targets, rollout: 100 }]);
      const headers = { 'X-Service-Device': randomUUID() };
      expect(await file(tenant, 'bundle=deb', headers)).toBeNull();
      expect(await file(tenant, 'bundle=deb&l.ring=early', headers)).toBe('app.deb');
      expect(await file(tenant, 'bundle=deb', headers)).toBe('app.deb');
      expect((await control(node, tenant, '1.1.0', { rollout: 10 })).status).toBe(422);
    });

    it('is a field of a device in decisions (§4.6)', async () => {
      const artifacts = NAMES.map((name) => unsigned(name));
      const tenant = await tenantWith(node, ['1.1.0', { artifacts }]);
      const bundles = ['deb', 'rpm', 'appimage', 'pacman', 'unknown', undefined];
      const devices = bundles.map((bundle, index) => {
        const device = { deviceId: `d${index}`, version: '1.0.0', platform: 'linux', arch: 'x64' };
        return { ...device, ...(bundle && { bundle }) };
      });
      const { body } = await decisions(node, tenant, devices);
      const decided = (body?.decisions ?? []) as { update: { url: string } | null }[];
      const image = 'app.AppImage';
      expect(decided.map(({ update }) => update?.url.split('/').at(-1))).toEqual([
        ...['app.deb', 'app.rpm', image, undefined, image, image],
      ]);
    });
  });

  describe('signatures', () => {
    it('Tauri is offered signed artifacts only, and the release below where there is none (§20.5)', async () => {
      const unsent = { platform: 'linux', signature: 's' };
      const tenant = await tenantWith(
        node,
        ['1.1.0', { artifacts: [unsigned('a.deb'), signed('b.rpm')] }],
        ['1.2.0', { artifacts: [unsigned('c.AppImage'), unsent] }],
      );
      expect(await file(tenant)).toBe('c.AppImage');
      expect(await file(tenant, '', TAURI)).toBe('b.rpm');
      expect(await file(tenant, 'bundle={{bundle_type}}', TAURI)).toBe('b.rpm');
      expect(await file(tenant, 'bundle=deb', TAURI)).toBeNull();
      expect(await file(tenant, 'bundle=deb')).toBe('a.deb');
      const agent = { 'User-Agent': 'x tauri-plugin-updater/2.9.0' };
      expect(await file(tenant, '', agent)).toBe('c.AppImage');
    });

    it('a channel can require them of every device on /u and in decisions (§20.5)', async () => {
      const tenant = await tenantWith(
        node,
        ['1.1.0', { artifacts: [signed('a.deb')] }],
        ['1.2.0', { artifacts: [unsigned('b.deb', { sha512: 'x' })] }],
      );
      expect(await file(tenant)).toBe('b.deb');
      await setChannel(node, tenant, { requireSignature: true });
      expect(await file(tenant)).toBe('a.deb');
      const yaml = await send(node, 'GET', `/e/${tenant.app}/stable/latest-linux.yml`);
      expect(yaml.text).toContain('b.deb');
      await setChannel(node, tenant, { requireSignature: false });
      expect(await file(tenant)).toBe('b.deb');
    });
  });

  describe('device in the query', () => {
    it('names the device where no header does (§19.9)', async () => {
      const artifacts = [unsigned('a.AppImage', { sha512: 'x' })];
      const tenant = await tenantWith(node, ['1.1.0', { artifacts }]);
      for (const [file, query, headers = {}] of [
        ['u', 'query-u'],
        ['u', 'ignored', { 'X-Service-Device': 'header-u' }],
        ['u', ''],
        ['u', 'x'.repeat(129)],
        ['u', '%00'],
        ['u', 'first&device=gr%C3%B6%C3%9Fe'],
        ['e', 'query-e', { 'X-User-Staging-Id': 'ignored' }],
        ['e', '', { 'X-User-Staging-Id': 'staging-e' }],
        ['e', 'ignored', { 'X-Service-Device': 'header-e' }],
      ] as [string, string, Record<string, string>?][]) {
        const rest = file === 'u' ? 'linux/x86_64/1.0.0' : 'latest-linux.yml';
        await send(node, 'GET', `/${file}/${tenant.app}/stable/${rest}?device=${query}`, {
          headers,
        });
      }
      const expected = ['größe', 'header-e', 'header-u', 'query-e', 'query-u', 'staging-e'].sort();
      const recorded = async () =>
        (await devicesOf(node, tenant)).map(({ deviceId }) => String(deviceId)).sort();
      await eventually('the devices are on record', async () => {
        return (await recorded()).length === expected.length;
      });
      expect(await recorded()).toEqual(expected);
    });

    it('has the budget of its device, on every device endpoint (§19.2)', async () => {
      const tenant = await createTenant(node);
      const device = randomUUID();
      const at = (surface: string, rest: string) =>
        `/${surface}/${tenant.app}/stable${rest}?device=${device}`;
      const feed = at('feed', '');
      const answers = await Promise.all(Array.from({ length: 125 }, () => send(node, 'GET', feed)));
      expect(answers.filter(({ status }) => status === 429).length).toBeGreaterThanOrEqual(5);
      for (const path of [
        at('u', '/linux/x86_64/1.0.0'),
        at('e', '/latest.yml'),
        at('squirrel', '/darwin-arm64/1.0.0'),
        at('velopack', '/releases.win.json'),
        at('sparkle', '/appcast.xml'),
        at('download', '/linux'),
      ]) {
        expect([path, (await send(node, 'GET', path)).status]).toEqual([path, 429]);
      }
      const headers = { 'X-Service-Device': device };
      expect((await send(node, 'GET', `/feed/${tenant.app}/stable`, { headers })).status).toBe(429);
    });
  });
});
