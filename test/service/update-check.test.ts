// Tests the update check on the wire (docs/contract.md 4.7): that a request reaches the decision with all of
// its parts, the heads of the answers, and what changes from one check to the next. What is decided is tested
// in test/domain/decision, what an address says in test/http/updater-addresses.test.ts; labels that are
// refused, malformed paths and other methods in bad-input.test.ts; what Tauri's updater is offered in
// test/updater/manifest.test.ts.

import { randomUUID } from 'node:crypto';
import { beforeAll, expect, it } from 'vitest';
import { cohortBucket, hashText } from '../../src/domain/decision/cohort.ts';
import { at, manifestOf } from '../support/released.ts';
import { deviceSuite } from '../support/service-suite.ts';
import {
  ARTIFACT,
  type CheckOptions,
  createNamed,
  createTenant,
  send,
  Tenant,
} from '../support/tenant.ts';

deviceSuite('update check', (node) => {
  /** App of all tests that only read: 1.1.0 on stable for every device. */
  let tenant: Tenant;
  beforeAll(async () => {
    const other = { ...ARTIFACT, platform: 'my os/x', arch: 'a+b' };
    tenant = await createTenant(node, ['1.1.0', { artifacts: [ARTIFACT, other] }]);
  });

  /** Returns the manifest that a device gets, or null for 204. */
  async function ask(of: Tenant, version = '1.0.0', options: CheckOptions = {}) {
    return manifestOf(await of.check(version, { device: randomUUID(), ...options }));
  }

  const linux = (version: string) => `@/stable/linux/x86_64/${version}`;
  it.each<[path: string, status: number, error?: string]>([
    ['no%20app/stable/linux/x86_64/1.0.0', 404, 'Unknown app'],
    ['@/Stable/linux/x86_64/1.0.0', 404, 'Unknown channel'],
    [linux('1.0.0%20'), 400, 'version: Invalid version'],
    ['@/stab%6Ce/my%20os%2Fx/a+b/1.0.0+4', 200],
    ['@/stable/my+os%2Fx/a+b/1.0.0', 204],
    ['@/stable/linux/x86_64', 404, 'Not found'],
  ])('an address /u/%s is %i (§4.7, §4.7.3)', async (path, status, error) => {
    const headers = { 'x-service-device': randomUUID() };
    const answer = await send(node, 'GET', `/u/${path.replace('@', tenant.app)}`, { headers });
    expect([answer.status, answer.body?.error]).toEqual([status, error]);
    if (status >= 400) expect(answer.headers.get('content-type')).toBe('application/json');
  });

  it('200 has its length, 204 neither body nor length nor type; no answer may be kept; HEAD is GET without the body (§4, §4.7.1, §4.7.2, §4.7.7)', async () => {
    for (const [path, status] of [
      [linux('1.0.0'), 200],
      [linux('1.1.0'), 204],
      ['@/nightly/linux/x86_64/1.0.0', 404],
      [linux('x'), 400],
      ['/a', 404],
    ] as const) {
      const told = async (method: string) => {
        const answer = await send(node, method, `/u/${path.replace('@', tenant.app)}`);
        const headers = Object.fromEntries(answer.headers);
        // `fetch` of Node 26 asks to close the connection after HEAD.
        for (const name of ['date', 'connection', 'keep-alive']) delete headers[name];
        return { status: answer.status, headers, text: answer.text };
      };
      const [head, get] = [await told('HEAD'), await told('GET')];
      expect(head, path).toEqual({ ...get, text: '' });
      const { 'content-length': length, 'content-type': type, ...others } = get.headers;
      expect([get.status, others['cache-control']], path).toEqual([status, 'no-store']);
      expect(others).not.toHaveProperty('transfer-encoding');
      const isEmpty = status === 204;
      expect(length).toBe(isEmpty ? undefined : `${Buffer.byteLength(get.text)}`);
      expect(type).toBe(isEmpty ? undefined : 'application/json');
    }
  });

  it('the manifest has exactly the fields of the contract, for the app, the channel and the labels of the request (§2.3, §2.5, §4.7, §10.6, §13.4, §13.6, §13.9, §13.11)', async () => {
    const beta = { channel: 'beta' };
    const carried = { url: at('a?b=1'), sha512: 'q+/=', signature: 'c2ln', size: 0 };
    const told = { version: 'v1.02+Build.7', notes: '## Größer & schneller 🚀\n' };
    const matchLabels = JSON.parse('{"größe & 🚀":["a=b&c","ß"],"__proto__":["x"]}') as object;
    await tenant.release('1.0.9', beta);
    const artifacts = [{ platform: 'linux', arch: 'x86_64', ...carried }];
    const matchExpressions = [{ key: '$version', operator: 'VersionLt', values: ['1.0.5'] }];
    const targets = { matchLabels, matchExpressions };
    const parts = { ...beta, notes: told.notes, artifacts, targets };
    const { createdAt } = await tenant.release(told.version, parts);
    expect(createdAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const key = encodeURIComponent('l.größe & 🚀');
    const versionFor = async (query: string, device = {}) =>
      (await ask(tenant, '1.0.0', { ...beta, query, ...device }))?.version;
    const manifest = { ...told, ...carried, updateMode: 'optional', pub_date: createdAt };
    const query = `l.__proto__=x&${key}=%C3%9F`;
    expect(await ask(tenant, '1.0.0', { ...beta, query })).toEqual(manifest);
    expect(await versionFor(`l.__proto__=x&${key}=a%3Db%26c`, { device: '' })).toBe(told.version);
    for (const other of ['', `l.__proto__=x&${key}=ss`, `l.__proto__=y&${key}=%C3%9F`]) {
      expect(await versionFor(other)).toBe('1.0.9');
    }
    expect((await ask(tenant, '1.0.5', { ...beta, query }))?.version).toBe('1.0.9');
    // Rolled back on one channel, it is not so on another.
    await tenant.serve(told.version, { ...beta, status: 'rolled_back' });
    expect(await ask(tenant, told.version)).toBeNull();
  });

  it('a new app is found at once, by its ref and its id; its first checks are answered alike, HEAD too (§2.4, §4, §14.1)', async () => {
    const ref = `late-${randomUUID()}`;
    expect((await new Tenant(node, { app: ref }).check('1.0.0')).status).toBe(404);
    const late = await createNamed(node, ref);
    expect((await new Tenant(node, { app: ref.toUpperCase() }).check('1.0.0')).status).toBe(404);
    await late.release('1.1.0');
    const head = await late.check('1.0.0', { method: 'HEAD', device: randomUUID() });
    const get = await late.check('1.0.0', { device: randomUUID() });
    const length = head.headers.get('content-length');
    expect([head.status, head.text, length]).toEqual([200, '', `${Buffer.byteLength(get.text)}`]);
    expect((await ask(late.with({ app: late.appId })))?.version).toBe('1.1.0');
    await late.release('1.2.0');
    const first = await Promise.all(Array.from({ length: 40 }, () => ask(late)));
    expect(first.map((manifest) => manifest?.version)).toEqual(first.map(() => '1.2.0'));
  });

  it("what is changed of the channel's terms counts at the next check, and a cohort is the domain's for the release and the UTF-8 text of the header (§3.8, §13.5 to §13.7, §19.1)", async () => {
    const staged = await tenant.anotherApp();
    expect(await ask(staged)).toBeNull();
    const { id } = await staged.release('2.0.0', { rollout: 10 });
    const offered = async (ids: readonly string[]) => {
      const asked = await Promise.all(
        // Header values leave as one byte per character.
        ids.map((each) => ask(staged, '1.0.0', { device: Buffer.from(each).toString('latin1') })),
      );
      return ids.filter((_, index) => asked[index] !== null);
    };
    // From 1: the id `0` is one that many devices share (§19.10).
    const ids = [1, 2, 3, 4, 5, 6, 7, 8].flatMap((serial) => [
      ...[`${serial}`, `${serial}`.padEnd(128, 'x'), `gerät-${serial}-größe`],
      ...[`x日本-${serial}-🚀x`, `${serial}${'🚀'.repeat(125)}xx`, `my "${serial}"; (blue)`],
    ]);
    const inCohort = (rollout: number) =>
      ids.filter((each) => cohortBucket(hashText(each), hashText(String(id))) < rollout * 100);
    expect(await offered(ids)).toEqual(inCohort(10));
    for (const [change, expected] of [
      [{ rollout: 50 }, inCohort(50)],
      [{ status: 'paused' }, []],
      [{ status: 'published', rollout: 99 }, inCohort(99)],
    ] as const) {
      await staged.serve('2.0.0', change);
      expect(await offered(ids)).toEqual(expected);
    }
    for (const text of ['   ', 'x'.repeat(129), `x${'ä'.repeat(127)}x`]) {
      expect(await offered([text])).toEqual([]);
    }
    await staged.serve('2.0.0', { rollout: 100 });
    await staged.setChannel({ updateMode: 'recommended', minimumSupportedVersion: '1.5' });
    const terms = { minimumSupportedVersion: '1.5' };
    expect(await ask(staged, '1.4.9')).toMatchObject({ ...terms, updateMode: 'required' });
    expect(await ask(staged, '1.5.0')).toMatchObject({ ...terms, updateMode: 'recommended' });
    await staged.setChannel({ updateMode: 'optional', minimumSupportedVersion: null });
    const last = await ask(staged);
    expect([last?.updateMode, last?.minimumSupportedVersion]).toEqual(['optional', undefined]);
  });
});
