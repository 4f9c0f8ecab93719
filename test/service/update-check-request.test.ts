// Tests the update check as a request: its address, its headers, its refusals, and what Tauri's updater is
// offered of what `tauri build` makes (docs/contract.md 4.7, 7 and 10). Labels are tested in
// test/http/read-labels.test.ts, and in bad-input.test.ts over HTTP; that Tauri takes every answer in
// test/updater.

import { randomUUID } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { at, fileOf, tenantWith } from '../support/released.ts';
import { deviceSuite } from '../support/service-suite.ts';
import { tauriRefusals } from '../support/tauri.ts';
import {
  type Answer,
  ARTIFACT,
  check,
  createTenant,
  send,
  type Tenant,
} from '../support/tenant.ts';

deviceSuite('update check: request', (node) => {
  /** App of all tests that only read: 1.1.0 on stable for every device. */
  let tenant: Tenant;
  beforeAll(async () => {
    tenant = await tenantWith(node, ['1.1.0']);
  });

  /** Checks an address as it is written, as a new device. */
  function ask(path: string, method = 'GET'): Promise<Answer> {
    return send(node, method, path, { headers: { 'x-service-device': randomUUID() } });
  }

  function address(version: string, channel = 'stable', app = tenant.app): string {
    return `/u/${app}/${channel}/linux/x86_64/${version}`;
  }

  describe('address', () => {
    it('an unknown app is 404 Unknown app, an unknown channel 404 Unknown channel (§4.7.3)', async () => {
      for (const [path, error] of [
        [address('1.0.0', 'stable', 'no-such-app'), 'Unknown app'],
        [address('1.0.0', 'stable', 'no%20app'), 'Unknown app'],
        [address('1.0.0', 'stable', 'x'.repeat(20_000)), 'Unknown app'],
        [address('1.0.0', 'stable', tenant.app.toUpperCase()), 'Unknown app'],
        [address('1.0.0', 'nightly'), 'Unknown channel'],
        [address('1.0.0', 'Stable'), 'Unknown channel'],
        [address('1.0.0', '%F0%9F%9A%80'), 'Unknown channel'],
      ] as const) {
        const answer = await ask(path);
        expect([answer.status, answer.body], path).toEqual([404, { error }]);
        expect(answer.headers.get('content-type'), path).toMatch(/^application\/json/);
      }
    });

    it('an app is found by its ref and by its id, as soon as it is there (§2.4, §4.7.3)', async () => {
      const ref = `late-${randomUUID()}`;
      expect((await ask(address('1.0.0', 'stable', ref))).status).toBe(404);
      const { appId } = await createTenant(node, ref);
      for (const app of [ref, appId]) {
        expect((await ask(address('1.0.0', 'stable', app))).status).toBe(204);
      }
    });

    it('an unparsable version is 400 with the reason, one that is semver-ish is understood (§10.1, §10.7)', async () => {
      const refused = ['abc', '1.', '1..2', '1.2.3.4.5', '1.0.0-', '1.0.0%20', '1.0.0%205'];
      const more = ['1.0.0%0A', '1.0.0%00', 'vv1.0.0', '1.0.0-%C3%A9', '%D9%A1.0.0', '*'];
      for (const version of [...refused, ...more, `1.0.0-${'x'.repeat(20_000)}`]) {
        const { status, body } = await ask(address(version));
        expect([version, status, body]).toEqual([
          version,
          400,
          { error: 'version: Invalid version' },
        ]);
      }
      for (const version of ['1', 'V1', '01.00', '1.0.0.9', '1.0.0-0.a-b.7', '1.0.0%2Brc', '0']) {
        expect((await ask(address(version))).body?.version, version).toBe('1.1.0');
      }
    });

    it('segments are percent-decoded, and a + is a plus, never a space (§4.7, clients: Tauri)', async () => {
      const artifacts = [{ ...ARTIFACT, platform: 'my os/x', arch: 'a+b' }];
      const built = await tenantWith(node, ['1.0.0+5', { artifacts }]);
      const app = built.app.replace('-', '%2D');
      for (const [path, status] of [
        ['stable/my%20os%2Fx/a+b/1.0.0%2B4', 200],
        ['stab%6Ce/my%20os%2Fx/a%2Bb/1.0.0+4', 200],
        ['stable/my%20os%2Fx/a+b/%31.0.0', 200],
        ['stable/my%20os%2Fx/a+b/1.0.0%2B5', 204],
        ['stable/my%20os%2Fx/a+b/1.0.0+5', 204],
        ['stable/my%20os%2Fx/a+b/1.0.0+6', 204],
        ['stable/my+os%2Fx/a+b/1.0.0', 204],
      ] as const) {
        expect([path, (await ask(`/u/${app}/${path}`)).status]).toEqual([path, status]);
      }
    });

    it('malformed percent-encoding is 400 and names the segment (§7.2)', async () => {
      for (const [path, field] of [
        [address('1.0.0%'), 'version'],
        [address('1.0.0', '%zz'), 'channel'],
        [address('1.0.0', 'stable', '%FF'), 'appRef'],
        [`/u/${tenant.app}/stable/%E0%80/x86_64/1.0.0`, 'platform'],
        [`/u/${tenant.app}/stable/linux/%1/1.0.0`, 'arch'],
      ] as const) {
        const answer = await ask(path);
        expect(answer.status, path).toBe(400);
        expect(answer.body?.error).toMatch(new RegExp(`^${field}: `));
      }
    });

    it('an address with another number of segments, or an empty one, is 404 with an Error body (§4.7)', async () => {
      const base = `/u/${tenant.app}/stable/linux/x86_64`;
      const short = ['/u', '/u/', base, `${base}/`, `//u/${tenant.app}`];
      const empty = `/u/${tenant.app}/stable//x86_64/1.0.0`;
      for (const path of [...short, `${base}/1.0.0/`, `${base}/1.0.0/x`, empty]) {
        const answer = await ask(path);
        expect([answer.status, answer.body], path).toEqual([404, { error: 'Not found' }]);
      }
    });

    it('another method is 405 and says what is allowed (§4)', async () => {
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        const answer = await ask(address('1.0.0'), method);
        expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
        expect(answer.body?.error).toBe('Method not allowed');
      }
    });
  });

  describe('answer', () => {
    it('200 is JSON with its length, 204 has neither body nor length nor type (§4.7.1, §4.7.2)', async () => {
      const { status, headers, text } = await ask(address('1.0.0'));
      expect([status, headers.get('content-length')]).toEqual([
        200,
        String(Buffer.byteLength(text)),
      ]);
      expect(headers.get('content-type')).toMatch(/^application\/json/);
      const raw = await onSocket(`${node.url}${address('1.1.0')}`, 'GET');
      expect([raw.status, raw.bytes]).toEqual([204, 0]);
      for (const name of ['content-length', 'content-type', 'transfer-encoding']) {
        expect(raw.headers).not.toHaveProperty(name);
      }
    });

    it('no answer may be kept by a cache, also no refusal; HEAD answers like GET, without the body (§4, §4.7.7)', async () => {
      for (const path of [
        ...[address('1.0.0'), address('1.1.0'), address('1.0.0', 'nightly'), address('x'), '/u/a'],
        `${address('1.0.0')}?l.=x`,
      ]) {
        const get = await onSocket(node.url + path, 'GET');
        const head = await onSocket(node.url + path, 'HEAD');
        expect(get.headers['cache-control'], path).toBe('no-store');
        expect([head.status, head.bytes, withoutDate(head.headers)], path).toEqual([
          get.status,
          0,
          withoutDate(get.headers),
        ]);
      }
    });

    it('HEAD as the first check of a channel and of a release answers alike (§4)', async () => {
      const fresh = await tenantWith(node, ['1.1.0']);
      const head = await check(node, fresh, '1.0.0', { method: 'HEAD', device: randomUUID() });
      const get = await check(node, fresh, '1.0.0', { device: randomUUID() });
      expect([head.status, head.text]).toEqual([200, '']);
      expect(head.headers.get('content-length')).toBe(String(Buffer.byteLength(get.text)));
    });

    it('first checks of one release at once all get it (§14.1)', async () => {
      const fresh = await tenantWith(node, ['1.1.0']);
      const answers = await Promise.all(
        Array.from({ length: 40 }, () => check(node, fresh, '1.0.0', { device: randomUUID() })),
      );
      expect(answers.map(({ body }) => body?.version)).toEqual(answers.map(() => '1.1.0'));
    });
  });

  describe("Tauri's updater", () => {
    it('of what tauri build makes it is offered the signed file of its arch (clients: Tauri)', async () => {
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
        tauriFile('linux', 'riscv64', 'Notes_1.0.0_riscv64.AppImage'),
        tauriFile('darwin-universal', undefined, 'Notes_universal.app.tar.gz'),
      ];
      const made = await tenantWith(node, ['1.0.0', { artifacts }]);
      for (const [platform, arch, name] of [
        ['darwin', 'aarch64', 'Notes_aarch64.app.tar.gz'],
        ['darwin', 'x86_64', 'Notes_x64.app.tar.gz'],
        ['windows', 'x86_64', 'Notes_1.0.0_x64-setup.exe'],
        ['windows', 'i686', 'Notes_1.0.0_x86-setup.exe'],
        ['windows', 'aarch64', null],
        ['linux', 'x86_64', 'Notes_1.0.0_amd64.AppImage'],
        ['linux', 'riscv64', 'Notes_1.0.0_riscv64.AppImage'],
        // A target that the app invented: `{{arch}}` is still the machine's arch.
        ['darwin-universal', 'aarch64', 'Notes_universal.app.tar.gz'],
        // Nothing for such a device.
        ['android', 'riscv64', null],
      ] as const) {
        const answer = await check(node, made, '0.9.0', { platform, arch });
        expect(tauriRefusals(answer), name ?? platform).toEqual([]);
        expect(fileOf(answer)).toBe(name);
      }
    });
  });
});

/** A bundle; those that the updater installs are signed. */
function tauriFile(platform: string, arch: string | undefined, name: string, isSigned = true) {
  const signature = 'dW50cnVzdGVkIGNvbW1lbnQ6';
  return { platform, ...(arch && { arch }), url: at(name), ...(isSigned && { signature }) };
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
