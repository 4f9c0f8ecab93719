// Tests which file a client can install (docs/contract.md 20) over HTTP: the fields of artifacts, `bundle`,
// required signatures, and `device` in the query. A strict model of Tauri's client reads what such clients
// are told.

import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { expectError } from '../support/expect-error.ts';
import { deviceSuite } from '../support/service-suite.ts';
import { tauriRefusals } from '../support/tauri.ts';
import {
  type Answer,
  admin,
  check,
  control,
  createTenant,
  manage,
  publish,
  send,
  type Tenant,
} from '../support/tenant.ts';

const TAURI = { 'User-Agent': 'tauri-plugin-updater/2.9.0', Accept: 'application/json' };
const NAMES = ['app.deb', 'app.rpm', 'app.AppImage'] as const;

function at(name: string): string {
  return `https://dl.example.com/${name}`;
}

function signed(name: string, more: object = {}) {
  return { platform: 'linux', arch: 'x86_64', url: at(name), signature: 'c2lnbmVk', ...more };
}

function unsigned(name: string, more: object = {}) {
  return { platform: 'linux', arch: 'x86_64', url: at(name), ...more };
}

deviceSuite('formats of artifacts', (node) => {
  async function release(tenant: Tenant, version: string, artifacts: readonly object[]) {
    const answer = await publish(node, tenant, version, { artifacts });
    expect(answer.status, answer.text).toBe(201);
    return answer;
  }

  /** Returns the file that a device is told to install; undefined for 204. */
  async function file(tenant: Tenant, query: string, headers: Record<string, string> = {}) {
    const path = `/u/${tenant.app}/stable/linux/x86_64/1.0.0${query === '' ? '' : `?${query}`}`;
    const answer = await send(node, 'GET', path, { headers });
    return fileIn(answer);
  }

  function fileIn({ status, text, body }: Answer): string | undefined {
    expect([200, 204], text).toContain(status);
    return (body as { url?: string } | undefined)?.url?.split('/').at(-1);
  }

  async function require(tenant: Tenant, requireSignature: boolean): Promise<void> {
    const change = { app: tenant.app, name: 'stable', requireSignature };
    const answer = await admin(node, 'PATCH', 'channels', change);
    expect([answer.status, answer.body]).toEqual([200, expect.objectContaining(change)]);
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
      const published = await release(tenant, '1.1.0', [unsigned('a', given), unsigned('b.deb')]);
      const expected = [unsigned('a', kept), unsigned('b.deb')];
      expect(published.body).toMatchObject({ release: { artifacts: expected } });
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
      const tenant = await createTenant(node);
      await release(
        tenant,
        '1.1.0',
        NAMES.map((name) => signed(name)),
      );
      for (let time = 0; time < 3; time++) {
        expect(await file(tenant, 'bundle=deb')).toBe('app.deb');
        expect(await file(tenant, 'bundle=RPM')).toBe('app.rpm');
        expect(await file(tenant, 'bundle_type=appimage')).toBe('app.AppImage');
        expect(await file(tenant, 'bundle=appimage.tar.gz')).toBe('app.AppImage');
        expect(await file(tenant, 'bundle=pacman')).toBeUndefined();
        expect(await file(tenant, 'bundle=deb&bundle_type=rpm')).toBe('app.deb');
        expect(await file(tenant, 'bundle=rpm&bundle=deb')).toBe('app.deb');
        expect(await file(tenant, 'b%75ndle=%64eb')).toBe('app.deb');
        expect(await file(tenant, '')).toBe('app.AppImage');
      }
    });

    it.each([
      'bundle=',
      'bundle',
      'bundle=unknown',
      'bundle={{bundle_type}}',
      'bundle=%7B%7Bbundle_type%7D%7D',
      'bundle=%00',
      'bundle=%FF',
    ])('%s tells nothing: every artifact fits (§20.3)', async (query) => {
      const tenant = await createTenant(node);
      await release(tenant, '1.1.0', [signed('app.deb')]);
      expect(await file(tenant, query)).toBe('app.deb');
    });

    it.each(['x'.repeat(33), '%7B'.repeat(33)])(
      'over 32 characters is 400 (§20.2)',
      async (value) => {
        const tenant = await createTenant(node);
        await release(tenant, '1.1.0', [signed('app.deb')]);
        for (const name of ['bundle', 'bundle_type']) {
          const path = `/u/${tenant.app}/stable/linux/x86_64/1.0.0?${name}=${value}`;
          const answer = await send(node, 'GET', path);
          expectError(answer, 400, 'bundle: Must have at most 32 characters');
        }
      },
    );

    it('a release without the kind is passed over, also on the way back (§20.2)', async () => {
      const tenant = await createTenant(node);
      await release(tenant, '0.9.0', [signed('old.deb')]);
      await release(tenant, '0.9.5', [signed('old.rpm')]);
      await release(tenant, '1.0.0', [signed('app.deb')]);
      await release(tenant, '1.1.0', [signed('new.deb')]);
      await release(tenant, '1.2.0', [signed('new.rpm')]);
      expect(await file(tenant, 'bundle=deb')).toBe('new.deb');
      await control(node, tenant, '1.0.0', { status: 'rolled_back' });
      await eventually('the device goes back', async () => {
        return (await file(tenant, 'bundle=deb')) === 'old.deb';
      });
    });

    it('decides cohorts, labels, first offers and check-ins as ever', async () => {
      const tenant = await createTenant(node);
      const targets = { matchLabels: { ring: ['early'] } };
      const artifacts = NAMES.map((name) => signed(name));
      const answer = await publish(node, tenant, '1.1.0', { artifacts, targets, rollout: 100 });
      expect(answer.status).toBe(201);
      const device = randomUUID();
      const headers = { 'X-Service-Device': device };
      expect(await file(tenant, 'bundle=deb', headers)).toBeUndefined();
      expect(await file(tenant, 'bundle=deb&l.ring=early', headers)).toBe('app.deb');
      expect(await file(tenant, 'bundle=deb', headers)).toBe('app.deb');
      const narrowed = await control(node, tenant, '1.1.0', { rollout: 10 });
      expect(narrowed.status).toBe(422);
    });

    it('is a field of a device in decisions (§4.6)', async () => {
      const tenant = await createTenant(node);
      await release(
        tenant,
        '1.1.0',
        NAMES.map((name) => unsigned(name)),
      );
      const bundles = ['deb', 'rpm', 'appimage', 'pacman', 'unknown', undefined];
      const devices = bundles.map((bundle, index) => {
        const device = { deviceId: `d${index}`, version: '1.0.0', platform: 'linux', arch: 'x64' };
        return { ...device, ...(bundle === undefined ? {} : { bundle }) };
      });
      const wave = (list: readonly object[]) =>
        manage(node, tenant, 'POST', 'fleet/decisions', { app: tenant.app, devices: list });
      const { body } = await wave(devices);
      const { decisions } = body as { decisions: readonly { update: { url: string } | null }[] };
      expect(decisions.map(({ update }) => update?.url.split('/').at(-1))).toEqual([
        'app.deb',
        'app.rpm',
        'app.AppImage',
        undefined,
        'app.AppImage',
        'app.AppImage',
      ]);
    });
  });

  describe('signatures', () => {
    it('Tauri is offered signed artifacts only, and the release below where there is none (§20.5)', async () => {
      const tenant = await createTenant(node);
      await release(tenant, '1.1.0', [unsigned('a.deb'), signed('b.rpm')]);
      await release(tenant, '1.2.0', [
        unsigned('c.AppImage'),
        { platform: 'linux', signature: 's' },
      ]);
      expect(await file(tenant, '')).toBe('c.AppImage');
      expect(await file(tenant, '', TAURI)).toBe('b.rpm');
      expect(await file(tenant, 'bundle={{bundle_type}}', TAURI)).toBe('b.rpm');
      expect(await file(tenant, 'bundle=deb', TAURI)).toBeUndefined();
      expect(await file(tenant, 'bundle=deb')).toBe('a.deb');
      const agent = { 'User-Agent': 'x tauri-plugin-updater/2.9.0' };
      expect(await file(tenant, '', agent)).toBe('c.AppImage');
    });

    it('a channel can require them of every device on /u and in decisions (§20.5)', async () => {
      const tenant = await createTenant(node);
      await release(tenant, '1.1.0', [signed('a.deb')]);
      await release(tenant, '1.2.0', [unsigned('b.deb', { sha512: 'x' })]);
      expect(await file(tenant, '')).toBe('b.deb');
      await require(tenant, true);
      expect(await file(tenant, '')).toBe('a.deb');
      const yaml = await send(node, 'GET', `/e/${tenant.app}/stable/latest-linux.yml`);
      expect(yaml.text).toContain('b.deb');
      await require(tenant, false);
      expect(await file(tenant, '')).toBe('b.deb');
    });

    it('what Tauri is told in any order of publishing is what it accepts, and of its kind', async () => {
      const kinds = { 'app.deb': 'deb', 'app.rpm': 'rpm', 'app.AppImage': 'appimage' } as const;
      for (const first of NAMES) {
        const tenant = await createTenant(node);
        const rest = NAMES.filter((name) => name !== first);
        await release(
          tenant,
          '1.1.0',
          [first, ...rest].map((name) => signed(name)),
        );
        await release(tenant, '1.2.0', [unsigned(first)]);
        for (const name of NAMES) {
          const path = `/u/${tenant.app}/stable/linux/x86_64/1.0.0?bundle=${kinds[name]}`;
          const answer = await send(node, 'GET', path, { headers: TAURI });
          expect(tauriRefusals(answer)).toEqual([]);
          expect(fileIn(answer)).toBe(name);
        }
      }
    });
  });

  describe('device in the query', () => {
    async function devicesOf(tenant: Tenant): Promise<readonly string[]> {
      const answer = await admin(node, 'GET', `devices?app=${tenant.app}`);
      const { devices } = answer.body as { devices: readonly { deviceId: string }[] };
      return devices.map(({ deviceId }) => deviceId).sort();
    }

    it('names the device where no header does (§19.9)', async () => {
      const tenant = await createTenant(node);
      await release(tenant, '1.1.0', [unsigned('a.AppImage', { sha512: 'x' })]);
      const file = `/e/${tenant.app}/stable/latest-linux.yml`;
      const path = `/u/${tenant.app}/stable/linux/x86_64/1.0.0`;
      const ask = (address: string, headers: Record<string, string> = {}) =>
        send(node, 'GET', address, { headers });
      await ask(`${path}?device=query-u`);
      await ask(`${path}?device=ignored`, { 'X-Service-Device': 'header-u' });
      await ask(`${path}?device=`);
      await ask(`${path}?device=${'x'.repeat(129)}`);
      await ask(`${path}?device=%00`);
      await ask(`${path}?device=first&device=gr%C3%B6%C3%9Fe`);
      await ask(`${file}?device=query-e`, { 'X-User-Staging-Id': 'ignored' });
      await ask(`${file}?device=`, { 'X-User-Staging-Id': 'staging-e' });
      await ask(`${file}?device=ignored`, { 'X-Service-Device': 'header-e' });
      const expected = ['größe', 'header-e', 'header-u', 'query-e', 'query-u', 'staging-e'].sort();
      await eventually('the devices are on record', async () => {
        return (await devicesOf(tenant)).length === expected.length;
      });
      expect(await devicesOf(tenant)).toEqual(expected);
    });

    it('has the budget of its device, on every device endpoint (§19.2)', async () => {
      const tenant = await createTenant(node);
      const device = randomUUID();
      const path = `/feed/${tenant.app}/stable?device=${device}`;
      const answers = await Promise.all(Array.from({ length: 125 }, () => send(node, 'GET', path)));
      expect(answers.filter(({ status }) => status === 429).length).toBeGreaterThanOrEqual(5);
      const header = { 'X-Service-Device': device };
      const same = await send(node, 'GET', `/feed/${tenant.app}/stable`, { headers: header });
      expect(same.status).toBe(429);
    });
  });
});
