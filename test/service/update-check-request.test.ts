// Tests the update check as a request: its address, its labels, its headers, its refusals, and whether
// Tauri's updater takes the answers (docs/contract.md 4.7, 7, 10 and 13.13).

import { randomUUID } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { deviceSuite } from '../support/service-suite.ts';
import { tauriRefusals } from '../support/tauri.ts';
import {
  type Answer,
  ARTIFACT,
  check,
  control,
  createTenant,
  publish,
  send,
  type Tenant,
} from '../support/tenant.ts';

deviceSuite('update check: request', (node) => {
  /** App of all tests that only read: 1.1.0 on stable for every device. */
  let tenant: Tenant;
  beforeAll(async () => {
    tenant = await createTenant(node);
    expect((await publish(node, tenant, '1.1.0')).status).toBe(201);
  });

  /** Checks an address as it is written, as a new device. */
  function ask(path: string, method = 'GET'): Promise<Answer> {
    return send(node, method, path, { headers: { 'x-service-device': randomUUID() } });
  }

  function address(version: string, channel = 'stable', app = tenant.app): string {
    return `/u/${app}/${channel}/linux/x86_64/${version}`;
  }

  /** An app with one release. */
  async function serving(version: string, more: Record<string, unknown> = {}): Promise<Tenant> {
    const made = await createTenant(node);
    expect((await publish(node, made, version, more)).status).toBe(201);
    return made;
  }

  describe('address', () => {
    it('an unknown app is 404 Unknown app, an unknown channel 404 Unknown channel (§4.7.3)', async () => {
      const cases: [path: string, error: string][] = [
        [address('1.0.0', 'stable', 'no-such-app'), 'Unknown app'],
        [address('1.0.0', 'stable', 'no%20app'), 'Unknown app'],
        [address('1.0.0', 'stable', tenant.app.toUpperCase()), 'Unknown app'],
        [address('1.0.0', 'nightly'), 'Unknown channel'],
        [address('1.0.0', 'Stable'), 'Unknown channel'],
        [address('1.0.0', '%F0%9F%9A%80'), 'Unknown channel'],
      ];
      for (const [path, error] of cases) {
        const answer = await ask(path);
        expect([answer.status, answer.body], path).toEqual([404, { error }]);
        expect(answer.headers.get('content-type'), path).toMatch(/^application\/json/);
      }
    });

    it('an app is found by its ref and by its id (§2.4)', async () => {
      for (const app of [tenant.app, tenant.appId]) {
        expect((await ask(address('1.0.0', 'stable', app))).body?.version).toBe('1.1.0');
      }
    });

    it('an app or channel that was unknown is found as soon as it is there (§4.7.3)', async () => {
      const ref = `late-${randomUUID()}`;
      const path = address('1.0.0', 'stable', ref);
      expect((await ask(path)).status).toBe(404);
      await createTenant(node, ref);
      expect((await ask(path)).status).toBe(204);
    });

    it.each([
      'abc',
      '1.',
      '.1',
      '1..2',
      '1.2.3.4.5',
      '1.0.0-',
      '1.0.0+',
      '1.0.0-a..b',
      '1.0.0+a+b',
      '-1',
      '1,0',
      '1.0.0_1',
      '1.0.0%20',
      '%201.0.0',
      '1.0.0%205',
      '1.0.0%0A',
      '1.0.0%00',
      'vv1.0.0',
      '1.0.0-%C3%A9',
      '%D9%A1.0.0',
      'latest',
      '*',
      `1.0.0-${'x'.repeat(59)}`,
    ])('an unparsable version is 400 with the reason: %s (§10.7)', async (version) => {
      const answer = await ask(address(version));
      expect([answer.status, answer.body]).toEqual([400, { error: 'version: Invalid version' }]);
    });

    it.each([
      '1',
      '1.0',
      '1.0.0',
      '1.0.0.9',
      'v1.0.0',
      'V1',
      '01.00',
      '1.0.0-rc.1',
      '1.0.0-0.a-b.7',
      '1.0.0+5',
      '1.0.0-a+b.c',
      '0',
      '1.0.0%2Brc',
      `1.0.0-${'x'.repeat(58)}`,
    ])('what is semver-ish is understood: %s (§10.1)', async (version) => {
      expect((await ask(address(version))).body?.version).toBe('1.1.0');
    });

    it('segments are percent-decoded, and a + is a plus, never a space (clients: Tauri)', async () => {
      const built = await serving('1.0.0+5');
      const outcome = async (version: string) =>
        (await ask(address(version, 'stable', built.app))).status;
      expect(await outcome('1.0.0%2B4')).toBe(200);
      expect(await outcome('1.0.0+4')).toBe(200);
      expect(await outcome('1.0.0%2B5')).toBe(204);
      expect(await outcome('1.0.0+5')).toBe(204);
      expect(await outcome('1.0.0+6')).toBe(204);
      expect(await outcome('%31.0.0')).toBe(200);
    });

    it('platform, arch, app and channel are percent-decoded too (§4.7)', async () => {
      const artifacts = [{ ...ARTIFACT, platform: 'my os/x', arch: 'a+b' }];
      const made = await serving('1.1.0', { artifacts });
      const app = made.app.replace('-', '%2D');
      expect((await ask(`/u/${app}/stab%6Ce/my%20os%2Fx/a+b/1.0.0`)).status).toBe(200);
      expect((await ask(`/u/${app}/stable/my+os%2Fx/a%2Bb/1.0.0`)).status).toBe(204);
    });

    it('malformed percent-encoding is 400 and names the segment (§7.2)', async () => {
      const cases: [path: string, field: string][] = [
        [address('1.0.0%'), 'version'],
        [address('1.0.0', '%zz'), 'channel'],
        [address('1.0.0', 'stable', '%FF'), 'appRef'],
        [`/u/${tenant.app}/stable/%E0%80/x86_64/1.0.0`, 'platform'],
        [`/u/${tenant.app}/stable/linux/%1/1.0.0`, 'arch'],
      ];
      for (const [path, field] of cases) {
        const answer = await ask(path);
        expect(answer.status, path).toBe(400);
        expect(answer.body?.error).toMatch(new RegExp(`^${field}: `));
      }
    });

    it('an address with another number of segments, or an empty one, is 404 with an Error body (§4.7)', async () => {
      const base = `/u/${tenant.app}/stable/linux/x86_64`;
      const paths = [
        '/u',
        '/u/',
        base,
        `${base}/`,
        `${base}/1.0.0/`,
        `${base}/1.0.0/x`,
        `/u/${tenant.app}/stable//x86_64/1.0.0`,
        `//u/${tenant.app}`,
      ];
      for (const path of paths) {
        const answer = await ask(path);
        expect([answer.status, answer.body], path).toEqual([404, { error: 'Not found' }]);
      }
    });

    it.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
      '%s is 405 and says what is allowed (§4)',
      async (method) => {
        const answer = await ask(address('1.0.0'), method);
        expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
        expect(answer.body?.error).toBe('Method not allowed');
      },
    );

    it('a very long address is answered in the form of every other refusal (§7.1)', async () => {
      const answer = await ask(address(`1.0.0-${'x'.repeat(20_000)}`));
      expect([answer.status, answer.body]).toEqual([400, { error: 'version: Invalid version' }]);
      expect((await ask(address('1.0.0', 'stable', 'x'.repeat(20_000)))).body).toEqual({
        error: 'Unknown app',
      });
    });
  });

  describe('answer', () => {
    it('200 is JSON with its length, and no cache may keep it (§4.7.1)', async () => {
      const { status, headers, text } = await ask(address('1.0.0'));
      expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
      expect(headers.get('content-type')).toMatch(/^application\/json/);
      expect(headers.get('content-length')).toBe(String(Buffer.byteLength(text)));
    });

    it('204 has no body, no Content-Length and no Content-Type (§4.7.2)', async () => {
      const raw = await onSocket(`${node.url}${address('1.1.0')}`, 'GET');
      expect([raw.status, raw.bytes]).toEqual([204, 0]);
      expect(raw.headers).toMatchObject({ 'cache-control': 'no-store' });
      for (const name of ['content-length', 'content-type', 'transfer-encoding']) {
        expect(raw.headers).not.toHaveProperty(name);
      }
    });

    it('no answer may be kept by a cache, also no refusal: the app may be created a second later (§4.7.7)', async () => {
      const paths = [
        address('1.0.0'),
        address('1.1.0'),
        address('x'),
        address('1.0.0', 'nightly'),
        `/u/${tenant.app}`,
        `${address('1.0.0')}?l.=x`,
      ];
      for (const path of paths) {
        expect((await ask(path)).headers.get('cache-control'), path).toBe('no-store');
      }
    });

    it('HEAD answers like GET, without the body (§4)', async () => {
      for (const path of [
        address('1.0.0'),
        address('1.1.0'),
        address('1.0.0', 'nightly'),
        address('x'),
        '/u/a',
      ]) {
        const [get, head] = [
          await onSocket(node.url + path, 'GET'),
          await onSocket(node.url + path, 'HEAD'),
        ];
        expect(head.bytes, path).toBe(0);
        expect([head.status, withoutDate(head.headers)], path).toEqual([
          get.status,
          withoutDate(get.headers),
        ]);
      }
    });

    it('HEAD as the first check of a channel and of a release answers alike (§4)', async () => {
      const fresh = await serving('1.1.0');
      const head = await check(node, fresh, '1.0.0', { method: 'HEAD', device: randomUUID() });
      const get = await check(node, fresh, '1.0.0', { device: randomUUID() });
      expect([head.status, head.text]).toEqual([200, '']);
      expect(head.headers.get('content-length')).toBe(String(Buffer.byteLength(get.text)));
    });

    it('several checks on one connection are answered in order (§4.7)', async () => {
      const paths = Array.from({ length: 40 }, (_, index) =>
        address(index % 2 === 0 ? '1.0.0' : '1.1.0'),
      );
      const statuses: number[] = [];
      for (const path of paths) statuses.push((await ask(path)).status);
      expect(statuses).toEqual(paths.map((_, index) => (index % 2 === 0 ? 200 : 204)));
    });

    it('first checks of one release at once all get it (§14.1)', async () => {
      const fresh = await serving('1.1.0');
      const answers = await Promise.all(
        Array.from({ length: 40 }, () => check(node, fresh, '1.0.0', { device: randomUUID() })),
      );
      expect(answers.map(({ body }) => body?.version)).toEqual(answers.map(() => '1.1.0'));
    });
  });

  describe('labels', () => {
    const labels = (count: number, key = (index: number) => `k${index}`): string =>
      Array.from({ length: count }, (_, index) => `l.${key(index)}=v`).join('&');

    it.each<[what: string, query: string]>([
      ['16 labels', labels(16)],
      ['16 labels, one of them twice', `${labels(16)}&l.k3=again`],
      ['a key of 128 characters', `l.${'k'.repeat(128)}=v`],
      ['a key of 128 characters of four bytes', `l.${encodeURIComponent('🚀'.repeat(128))}=v`],
      ['a value of 256 characters', `l.k=${'v'.repeat(256)}`],
      ['a value of 256 characters of four bytes', `l.k=${encodeURIComponent('🚀'.repeat(256))}`],
      ['an empty value', 'l.k='],
      ['no = at all', 'l.k'],
      ['a percent-encoded key and value', 'l.%6B%3D=%26'],
      ['a $ inside a key', 'l.a$b=v'],
      ['other parameters, ignored', 'k=v&label=1&L.x=1&=&l=1&ll.k=1'],
      [
        'many other parameters',
        `${Array.from({ length: 50 }, (_, index) => `p${index}=1`).join('&')}&l.k=v`,
      ],
      ['an empty query', ''],
    ])('%s: the check is answered (§13.13, §8)', async (_, query) => {
      expect((await ask(`${address('1.0.0')}?${query}`)).status).toBe(200);
    });

    it.each<[what: string, query: string, error: RegExp]>([
      ['17 labels', labels(17), /^l: .*16/],
      ['a key of 129 characters', `l.${'k'.repeat(129)}=v`, /^l\.k+: .*128/],
      [
        'a key of 129 characters of four bytes',
        `l.${encodeURIComponent('🚀'.repeat(129))}=v`,
        /128/,
      ],
      ['a value of 257 characters', `l.key=${'v'.repeat(257)}`, /^l\.key: .*256/],
      ['an empty key', 'l.=v', /^l\.: .*empty/],
      ['a reserved key', 'l.$version=9', /^l\.\$version: /],
      ['an unknown reserved key', 'l.%24other=9', /^l\.\$other: /],
      ['a bad label after good ones', `${labels(3)}&l.=v`, /^l\.: /],
    ])('%s: 400 with a message that names the label (§13.13, §8)', async (_, query, error) => {
      const answer = await ask(`${address('1.0.0')}?${query}`);
      expect(answer.status).toBe(400);
      expect(answer.body?.error).toMatch(error);
      expect(Object.keys(answer.body ?? {})).toEqual(['error']);
    });
  });

  describe("Tauri's updater", () => {
    it.each<[what: string, change: Record<string, unknown>]>([
      ['a version of two numbers', { version: '1.2' }],
      ['a version with a leading zero', { version: '1.02.0' }],
      ['no version', { version: undefined }],
      ['a relative url', { url: '/a' }],
      ['no url', { url: undefined }],
      ['an empty signature', { signature: '' }],
      ['no signature', { signature: undefined }],
      ['a date only', { pub_date: '2026-01-02' }],
      ['a date without offset', { pub_date: '2026-01-02T03:04:05' }],
      ['notes that are no text', { notes: [] }],
      ['a name', { name: '1.2.0' }],
      ['platforms', { platforms: {} }],
    ])('the reading used here refuses %s (clients: Tauri)', (_, change) => {
      const good = {
        version: 'v1.2.0',
        url: 'https://a.example/b',
        signature: 'c2ln',
        pub_date: '2026-01-02T03:04:05+01:00',
      };
      expect(tauriRefusals({ status: 200, text: JSON.stringify(good) })).toEqual([]);
      expect(
        tauriRefusals({ status: 200, text: JSON.stringify({ ...good, ...change }) }),
      ).toHaveLength(1);
    });

    it.each(['linux', 'darwin', 'windows'])(
      'every answer for %s is one it takes (clients: Tauri)',
      async (platform) => {
        const made = await createTenant(node);
        const steps: [version: string, more: Record<string, unknown>][] = [
          ['1.0.0', {}],
          ['v1.1.0', { notes: 'Größer "und" \\ schneller\n🚀\u2028' }],
          ['1.2.0-beta.1', { notes: '' }],
          ['1.2.0+5', {}],
          ['2.0.0', { rollout: 50 }],
        ];
        const artifacts = ['linux', 'macOS', 'win32'].map((each) => ({
          ...ARTIFACT,
          arch: undefined,
          platform: each,
        }));
        for (const [version, more] of steps) {
          expect((await publish(node, made, version, { artifacts, ...more })).status).toBe(201);
          const answers = await asTauri(made, platform);
          expect(answers.flatMap(tauriRefusals)).toEqual([]);
        }
        expect((await control(node, made, '2.0.0', { status: 'rolled_back' })).status).toBe(200);
        expect((await asTauri(made, platform)).flatMap(tauriRefusals)).toEqual([]);
      },
    );

    it('of what tauri build makes it is offered the signed file of its arch (clients: Tauri)', async () => {
      const made = await createTenant(node);
      const artifacts = [
        tauriFile('macos', 'aarch64', 'Notes_1.0.0_aarch64.dmg', false),
        tauriFile('macos', 'aarch64', 'Notes_aarch64.app.tar.gz'),
        tauriFile('macos', 'x64', 'Notes_1.0.0_x64.dmg', false),
        tauriFile('macos', 'x64', 'Notes_x64.app.tar.gz'),
        tauriFile('windows', 'x64', 'Notes_1.0.0_x64_en-US.msi', false),
        tauriFile('windows', 'x64', 'Notes_1.0.0_x64-setup.exe'),
        tauriFile('windows', 'i686', 'Notes_1.0.0_x86-setup.exe'),
        tauriFile('linux', 'amd64', 'notes_1.0.0_amd64.deb', false),
        tauriFile('linux', 'amd64', 'Notes_1.0.0_amd64.AppImage'),
        tauriFile('linux', 'armv7', 'Notes_1.0.0_armhf.AppImage'),
        tauriFile('linux', 'riscv64', 'Notes_1.0.0_riscv64.AppImage'),
        tauriFile('darwin-universal', undefined, 'Notes_universal.app.tar.gz'),
      ];
      await publish(node, made, '1.0.0', { artifacts });
      for (const [target, arch, name] of [
        ['darwin', 'aarch64', 'Notes_aarch64.app.tar.gz'],
        ['darwin', 'x86_64', 'Notes_x64.app.tar.gz'],
        ['windows', 'x86_64', 'Notes_1.0.0_x64-setup.exe'],
        ['windows', 'i686', 'Notes_1.0.0_x86-setup.exe'],
        ['linux', 'x86_64', 'Notes_1.0.0_amd64.AppImage'],
        ['linux', 'armv7', 'Notes_1.0.0_armhf.AppImage'],
        ['linux', 'riscv64', 'Notes_1.0.0_riscv64.AppImage'],
        // A target that the app invented: `{{arch}}` is still the machine's arch.
        ['darwin-universal', 'aarch64', 'Notes_universal.app.tar.gz'],
        ['darwin-universal', 'x86_64', 'Notes_universal.app.tar.gz'],
      ] as const) {
        const answer = await check(node, made, '0.9.0', { platform: target, arch });
        expect(tauriRefusals(answer), name).toEqual([]);
        expect(answer.body).toMatchObject({ url: `https://downloads.example.com/${name}` });
      }
      for (const arch of ['aarch64', 'riscv64']) {
        const answer = await check(node, made, '0.9.0', { platform: 'windows', arch });
        expect([answer.status, tauriRefusals(answer)]).toEqual([204, []]);
      }
    });

    it('"nothing for you" is 204, which it takes, for every reason there is (clients: Tauri)', async () => {
      const made = await serving('1.1.0', { rollout: 0 });
      const options = { device: randomUUID() };
      const answers = [
        await check(node, made, '1.0.0', options),
        await check(node, made, '1.1.0', options),
        await check(node, tenant, '1.0.0', { ...options, platform: 'android', arch: 'riscv64' }),
      ];
      expect(answers.map((each) => each.status)).toEqual([204, 204, 204]);
      expect(answers.flatMap(tauriRefusals)).toEqual([]);
    });

    /**
     * Sends checks as Tauri's updater does: {{target}}, {{arch}} and {{current_version}} are put into the
     * path.
     */
    function asTauri(made: Tenant, target: string): Promise<Answer[]> {
      const asked = ['x86_64', 'aarch64', 'i686', 'armv7'].flatMap((arch) =>
        ['0.9.0', '1.0.0-alpha.1', '1.0.0%2B5', '1.1.0', '1.2.0%2B5', '2.0.0'].map((version) =>
          send(node, 'GET', `/u/${made.app}/stable/${target}/${arch}/${version}`, {
            headers: {
              accept: 'application/json',
              'user-agent': 'tauri-plugin-updater/2.9.0',
              'x-service-device': randomUUID(),
            },
          }),
        ),
      );
      return Promise.all(asked);
    }
  });
});

/** A bundle; those that the updater installs are signed. */
function tauriFile(platform: string, arch: string | undefined, name: string, isSigned = true) {
  return {
    platform,
    ...(arch === undefined ? {} : { arch }),
    url: `https://downloads.example.com/${name}`,
    ...(isSigned ? { signature: 'dW50cnVzdGVkIGNvbW1lbnQ6' } : {}),
  };
}

type RawAnswer = {
  readonly status: number;
  readonly headers: Record<string, unknown>;
  readonly bytes: number;
};

/** Sends a request and returns the raw answer, whose headers no client library has interpreted. */
function onSocket(url: string, method: string): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const headers = { 'x-service-device': randomUUID() };
    const request = httpRequest(url, { method, headers, agent: false }, (response) => {
      let bytes = 0;
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.byteLength;
      });
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, bytes }),
      );
    });
    request.on('error', reject);
    request.end();
  });
}

function withoutDate({ date: _, ...headers }: Record<string, unknown>): Record<string, unknown> {
  return headers;
}
